// The operands of an instruction. This is the only place that says so: lowering, proofs, imports and the
// sequential reference all use it.
#pragma once

#include <ashlar/model/dependencies.hpp>
#include <ashlar/program/program.hpp>

#include <cstddef>

namespace ashlar {

// The facts that determine the operands of a program's instructions: its stages, where they live, who
// shares parameters, and which passes there are. Refers to the program, whose instructions need not be
// written yet.
class program_shape {
 public:
  // Begins without any passes.
  constexpr explicit program_shape(program_view const& p)
      : p_(p), passes_(p.stage_count, p.micro_batch_count, 0) {}

  // Notes that the program runs this pass. Its stage and micro-batch must exist.
  constexpr void add(pass const& what) {
    if (is_part(what)) return;
    passes_.at(what.micro_batch, what.stage, result_of(what.kind)) |=
        what.kind == pass_kind::backward ? fused : one;
  }
  // Notes that the value of this forward leaves for the host until it is needed. It must exist.
  constexpr void add_offload(pass const& forward) {
    passes_.at(forward.micro_batch, forward.stage, result::activation) |= leaves;
    some_leave_ = true;
  }
  // Notes all passes of the program, and the values that leave. Their stages and micro-batches must
  // exist.
  constexpr void add_all() {
    for (instruction const& i : p_.instructions)
      if (i.code == opcode::compute)
        add(i.what);
      else if (i.code == opcode::offload)
        add_offload(i.what);
  }

  constexpr program_view const& of() const { return p_; }
  constexpr bool is_sharded() const { return p_.sharding != sharding_level::none; }
  // Whether the program recomputes this stage for this micro-batch.
  constexpr bool is_recomputed(pass const& what) const {
    return passes_.at(what.micro_batch, what.stage, result::recomputed) != 0;
  }
  // Whether the value of this stage's and micro-batch's forward is on the host for a while.
  constexpr bool is_offloaded(pass const& what) const {
    return some_leave_ && (passes_.at(what.micro_batch, what.stage, result::activation) & leaves) != 0;
  }
  // The value that a forward keeps for the backward, or for its recompute; and how many instructions
  // read that on the device once it is back.
  constexpr value_key kept_by(pass const& forward) const {
    return {is_recomputed(forward) ? slot_kind::checkpoint : slot_kind::stash, forward.stage,
            forward.micro_batch};
  }
  constexpr int readers_of_kept(pass const& forward) const {
    return is_recomputed(forward) ? 1 : stash_readers(forward);
  }
  // How often a stash is read: once by a fused backward, once each by an input and a weight pass, and by
  // work.
  constexpr int stash_readers(pass const& what) const {
    int const input = passes_.at(what.micro_batch, what.stage, result::input_gradient);
    return (input == fused ? 1 : input + weight_passes(what)) + work_readers(what);
  }
  constexpr bool has_backward(pass const& what) const {
    return passes_.at(what.micro_batch, what.stage, result::input_gradient) != 0;
  }
  constexpr int work_readers(pass const& what) const {
    return p_.work.empty() ? 0 : static_cast<int>(p_.work.readers(what).size());
  }
  constexpr int readers_of_micro_gradient(int stage, int micro_batch) const {
    int count = 0;
    for (int job = 0; job < p_.work.job_count(); ++job)
      count += p_.work.gradient_of(job) == read_gradient{stage} && micro_batch < p_.work.part_count(job);
    return count;
  }
  constexpr int weight_passes(pass const& what) const {
    return passes_.at(what.micro_batch, what.stage, result::weight_gradient);
  }
  // How many passes on a device read the activation there: forwards of next stages, or backwards of
  // shards.
  constexpr int readers_on(int device, pass const& forward) const {
    int count = 0;
    for (int after : p_.graph.readers(forward.stage))
      if (p_.device_of(forward.micro_batch, after) == device) count += meetings_with(forward, after);
    return count;
  }
  // How many instructions read an activation on its own device: those passes there, and a send to each
  // other device that has some.
  constexpr int readers_of_output(int device, pass const& forward) const {
    int count = 0;
    list_view<int> const readers = p_.graph.readers(forward.stage);
    for (int const* to = readers.first; to != readers.last; ++to)
      count += p_.device_of(forward.micro_batch, *to) == device ? meetings_with(forward, *to)
               : to == readers.first                            ? 1
                                     : int{is_first_on_its_device(forward, *to)};
    return count;
  }
  // How many instructions read a gradient on a device: the backwards of the stage before if they are
  // there, otherwise the one send.
  constexpr int readers_of_gradient(int device, pass const& backward, int before) const {
    return p_.backward_device_of(backward.micro_batch, before) == device
               ? meetings_with(backward, before)
               : 1;
  }
  // How many passes of another stage meet one of a stage.
  constexpr int meetings_with(pass const& what, int other) const {
    return p_.graph.has_sizes()
               ? matching_micro_batches(p_.graph.size_of(what.stage), p_.graph.size_of(other))
               : 1;
  }
  // An activation goes to a device once, named by the first of the stages there that need it.
  constexpr bool is_first_on_its_device(pass const& forward, int to) const {
    int const device = p_.device_of(forward.micro_batch, to);
    for (int after : p_.graph.readers(forward.stage)) {
      if (after == to) return true;
      if (p_.device_of(forward.micro_batch, after) == device) return false;
    }
    return false;
  }

 private:
  static constexpr unsigned char one = 1;
  static constexpr unsigned char fused = 2;
  static constexpr unsigned char leaves = 4;

  program_view p_;
  result_table<unsigned char>
      passes_;  // 0: no such pass, `one`, `fused`; and whether its value `leaves`
  bool some_leave_ = false;
};

// The value that the reader of an edge reads.
constexpr value_key value_for_work(pass const& from) {
  if (is_part(from)) return work_value(part_of(from));
  return {gives_input_gradient(from.kind) ? slot_kind::weight_stash : slot_kind::stash, from.stage,
          from.micro_batch};
}

// The value that a part of collective work sums: it takes the slot over. Requires such a part of work
// that has passed its check: it has an input.
constexpr value_key summed_value(work_view const& work, part_id sum) {
  return value_for_work(work.inputs(sum)[0].from);
}

namespace operands_detail {

// Visits work's uses of a stage's gradient.
template <class Visit>
constexpr void visit_gradient(program_shape const& shape, part_id part, Visit& visit) {
  int const k = part.part;
  shape.of().work.gradient_of(part.job).visit(
      [](no_gradient) {},
      [&](take_gradient use) {
        int const readers = shape.readers_of_micro_gradient(use.stage, k);
        visit(value_key{slot_kind::weight_gradient, use.stage}, access::accumulate, 0);
        visit(value_key{slot_kind::micro_gradient, use.stage, k},
              readers == 0 ? access::scratch : access::write, readers);
      },
      [&](read_gradient use) {
        if (k < shape.of().micro_batch_count)
          visit(value_key{slot_kind::micro_gradient, use.stage, k}, access::read, 0);
      },
      [&](give_gradient use) {
        visit(value_key{slot_kind::weight_gradient, use.stage}, access::accumulate, 0);
      });
}

// Visits the values of work that a pass reads, and those that work itself reads, adds to and leaves.
template <class Visit>
constexpr void visit_work(program_shape const& shape, pass const& what, Visit& visit) {
  work_view const& work = shape.of().work;
  for (work_edge const& e : work.inputs(what)) visit(value_for_work(e.from), access::read, 0);
  if (!is_part(what)) return;
  part_id const part = part_of(what);
  visit_gradient(shape, part, visit);
  if (work.uses_state(part.job))
    visit(value_key{slot_kind::work_state, work.state_of(part.job)}, access::accumulate, 0);
  if (int const readers = shape.work_readers(what); readers > 0)
    visit(work_value(part), access::write, readers);
}

// Visits the values that a pass on a chunk of a sequence reads from the chunk next to it on its stage,
// and leaves for the other neighbour. A forward needs the state that the chunk before it left. So does
// its recompute, which leaves none: the state stays until both have read it. The gradient of that state
// goes back the same way. Everything else that a backward needs of earlier chunks is in its stash, where
// its own forward (or recompute) has put it.
template <class Visit>
constexpr void visit_sequence(program_shape const& shape, pass const& what, Visit& visit) {
  int const q = shape.of().graph.sequence_chunks, stage = what.stage, k = what.micro_batch;
  bool const is_first = k % q == 0, is_last = k % q == q - 1;
  switch (what.kind) {
    case pass_kind::forward:
      if (!is_first) visit(value_key{slot_kind::sequence_state, stage, k - 1}, access::read, 0);
      if (!is_last)
        visit(value_key{slot_kind::sequence_state, stage, k}, access::write,
              shape.is_recomputed({pass_kind::forward, stage, k + 1}) ? 2 : 1);
      return;
    case pass_kind::recompute:
      if (!is_first) visit(value_key{slot_kind::sequence_state, stage, k - 1}, access::read, 0);
      return;
    case pass_kind::backward:
    case pass_kind::backward_input:
      if (!is_last) visit(value_key{slot_kind::sequence_gradient, stage, k + 1}, access::read, 0);
      if (!is_first) visit(value_key{slot_kind::sequence_gradient, stage, k}, access::write, 1);
      return;
    case pass_kind::backward_weight:
    case pass_kind::work:
      return;
  }
}

template <class Visit>
constexpr void visit_pass(program_shape const& shape, int device, pass const& what, Visit& visit) {
  program_view const& p = shape.of();
  int const stage = what.stage, k = what.micro_batch;
  auto const accumulate = [&] {
    for_each_group_of(p.groups, p.stage_count, stage, [&](int group) {
      visit(value_key{slot_kind::weight_gradient, group}, access::accumulate, 0);
    });
  };
  auto const write = [&](slot_kind kind, int reads) {
    visit(value_key{kind, stage, k}, reads == 0 ? access::scratch : access::write, reads);
  };
  auto const write_gradients = [&] {
    for (int before : p.graph.predecessors(stage))
      visit(value_key{slot_kind::gradient, stage, k, before}, access::write,
            shape.readers_of_gradient(device, what, before));
  };
  switch (what.kind) {
    case pass_kind::forward: {
      for (int before : p.graph.predecessors(stage))
        if (p.graph.has_sizes())
          for_each_matching(p.graph.size_of(stage), p.graph.size_of(before), k, [&](int j) {
            visit(value_key{slot_kind::activation, before, j}, access::read, 0);
          });
        else
          visit(value_key{slot_kind::activation, before, k}, access::read, 0);
      if (int const readers = shape.readers_of_output(device, what); readers > 0)
        write(slot_kind::activation, readers);
      if (p.graph.gives_gradient_early(stage) && shape.has_backward(what)) write_gradients();
      bool const again = shape.is_recomputed(what);
      if (again) write(slot_kind::checkpoint, 1);
      bool const leaves = shape.is_offloaded(what) || p.moves_kept(k, stage);
      int const readers = leaves && shape.has_backward(what) ? 1 : shape.stash_readers(what);
      write(slot_kind::stash, again ? 0 : readers);
      break;
    }
    case pass_kind::recompute:
      visit(value_key{slot_kind::checkpoint, stage, k}, access::read, 0);
      write(slot_kind::stash, shape.stash_readers(what));
      break;
    case pass_kind::backward:
    case pass_kind::backward_input:
      for (int after : p.graph.successors(stage))
        if (p.graph.has_sizes())
          for_each_matching(p.graph.size_of(stage), p.graph.size_of(after), k, [&](int j) {
            visit(value_key{slot_kind::gradient, after, j, stage}, access::read, 0);
          });
        else
          visit(value_key{slot_kind::gradient, after, k, stage}, access::read, 0);
      visit(value_key{slot_kind::stash, stage, k}, access::read, 0);
      if (p.graph.has_shards)
        for (int shard : p.graph.shards_with(stage))
          visit(value_key{slot_kind::activation, shard, k}, access::read, 0);
      if (!p.graph.gives_gradient_early(stage)) write_gradients();
      write(slot_kind::weight_stash, shape.weight_passes(what) + shape.work_readers(what));
      if (what.kind == pass_kind::backward) accumulate();
      break;
    case pass_kind::backward_weight:
      visit(value_key{slot_kind::stash, stage, k}, access::read, 0);
      visit(value_key{slot_kind::weight_stash, stage, k}, access::read, 0);
      accumulate();
      break;
    case pass_kind::work:
      break;
  }
  if (shape.is_sharded() && !is_part(what)) visit(value_key{slot_kind::weight, stage}, access::read, 0);
  if (p.graph.sequence_chunks > 1) visit_sequence(shape, what, visit);
  if (!p.work.empty()) visit_work(shape, what, visit);
}

}  // namespace operands_detail

// Calls visit(value_key, access, reads) for each operand of an instruction of a device, in order.
// `reads` says how often a value that is written for a micro-batch or by work is read on that device.
// The instruction's stages, micro-batches, parts and group must exist, and so must the devices and
// routes that the program names. O(operands) on a chain, O(log edges) more with work.
template <class Visit>
constexpr void for_each_operand(program_shape const& shape, int device, instruction const& i,
                                Visit&& visit) {
  program_view const& p = shape.of();
  bool const forward = i.what.kind == pass_kind::forward;
  switch (i.code) {
    case opcode::compute:
      operands_detail::visit_pass(shape, device, i.what, visit);
      return;
    case opcode::send:
      if (forward && i.to == i.what.stage) return visit(shape.kept_by(i.what), access::read, 0);
      visit(forward ? value_key{slot_kind::activation, i.what.stage, i.what.micro_batch}
                    : value_key{slot_kind::gradient, i.what.stage, i.what.micro_batch, i.to},
            access::read, 0);
      return;
    case opcode::receive:
      if (forward && i.to == i.what.stage)
        visit(shape.kept_by(i.what), access::write, shape.readers_of_kept(i.what));
      else if (forward)
        visit(value_key{slot_kind::activation, i.what.stage, i.what.micro_batch}, access::write,
              shape.readers_on(device, i.what));
      else
        visit(value_key{slot_kind::gradient, i.what.stage, i.what.micro_batch, i.to}, access::write,
              shape.readers_of_gradient(device, i.what, i.to));
      return;
    case opcode::offload: {
      value_key const kept = shape.kept_by(i.what);
      visit(kept, access::read, 0);
      visit(value_key{on_host(kept.kind), kept.of, kept.micro_batch}, access::write, 1);
      return;
    }
    case opcode::reload: {
      value_key const kept = shape.kept_by(i.what);
      visit(value_key{on_host(kept.kind), kept.of, kept.micro_batch}, access::read, 0);
      visit(kept, access::write, shape.readers_of_kept(i.what));
      return;
    }
    case opcode::all_reduce:
      if (sums_work(i))
        return visit(work_value(part_of(i.what)), access::accumulate, shape.work_readers(i.what));
      visit(value_key{i.subject, i.subject == slot_kind::scalar ? gradient_norm : i.group},
            access::accumulate, 0);
      return;
    case opcode::all_gather:
      visit(value_key{slot_kind::weight, i.group}, access::write, 0);
      return;
    case opcode::release:
      visit(value_key{slot_kind::weight, i.group}, access::scratch, 0);
      return;
    case opcode::reduce_scatter:
      visit(value_key{slot_kind::weight_gradient, i.group}, access::read, 0);
      visit(value_key{slot_kind::gradient_shard, i.group}, access::accumulate, 0);
      return;
    case opcode::clear:
      visit(value_key{i.subject,
                      i.subject == slot_kind::work_state ? i.group - group_of_job(p, 0) : i.group},
            access::write, 0);
      return;
    case opcode::measure:
      // Each gradient counts once: on the first of its holders.
      for (int group = 0; group < p.groups.count(); ++group)
        if (p.groups.holders(group)[0] == device)
          visit(value_key{p.gradient_kind(group), group}, access::read, 0);
      visit(value_key{slot_kind::scalar, gradient_norm}, access::write, 0);
      return;
    case opcode::optimize:
      visit(value_key{p.gradient_kind(i.group), i.group}, access::read, 0);
      if (p.step == optimizer_step::after_norm)
        visit(value_key{slot_kind::scalar, gradient_norm}, access::read, 0);
      return;
  }
}

}  // namespace ashlar
