// The operands of an instruction. This is the only place that says so: lowering, proofs, imports and the
// sequential reference all use it.
#pragma once

#include <ashlar/program/program_shape.hpp>

namespace ashlar {

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
    list_view<int> const all = p.graph.predecessors(stage);
    for (int const* before = all.first; before != all.last; ++before)
      visit(value_key{slot_kind::gradient, stage, k, *before}, access::write,
            shape.readers_of_gradient(device, what, *before));
  };
  switch (what.kind) {
    case pass_kind::forward: {
      list_view<int> const all = p.graph.predecessors(stage);
      for (int const* before = all.first; before != all.last; ++before)
        if (p.graph.has_sizes())
          for_each_matching(p.graph.size_of(stage), p.graph.size_of(*before), k, [&](int j) {
            visit(value_key{slot_kind::activation, *before, j}, access::read, 0);
          });
        else
          visit(value_key{slot_kind::activation, *before, k}, access::read, 0);
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
    case pass_kind::backward_input: {
      list_view<int> const all = p.graph.successors(stage);
      for (int const* after = all.first; after != all.last; ++after)
        if (p.graph.has_sizes())
          for_each_matching(p.graph.size_of(stage), p.graph.size_of(*after), k, [&](int j) {
            visit(value_key{slot_kind::gradient, *after, j, stage}, access::read, 0);
          });
        else
          visit(value_key{slot_kind::gradient, *after, k, stage}, access::read, 0);
      visit(value_key{slot_kind::stash, stage, k}, access::read, 0);
      if (p.graph.has_shards)
        for (int shard : p.graph.shards_with(stage))
          visit(value_key{slot_kind::activation, shard, k}, access::read, 0);
      if (!p.graph.gives_gradient_early(stage)) write_gradients();
      write(slot_kind::weight_stash, shape.weight_passes(what) + shape.work_readers(what));
      if (what.kind == pass_kind::backward) accumulate();
      break;
    }
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
  if (shape.has_work()) visit_work(shape, what, visit);
}

}  // namespace operands_detail

// Calls visit(value_key, access, reads) for each operand of an instruction of a device, in order.
// `reads` says how often a value that is written for a micro-batch or by work is read on that device.
// The instruction's stages, micro-batches, parts and group must exist, and so must the devices and
// routes that the program names. O(operands) on a chain, O(log edges) more with work.
template <class Visit>
constexpr void for_each_operand(program_shape const& shape, int device, instruction const& i,
                                Visit&& visit) {
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
      visit(
          value_key{i.subject, i.subject == slot_kind::work_state ? i.group - group_of_job(shape.of(), 0)
                                                                  : i.group},
          access::write, 0);
      return;
    case opcode::measure: {
      program_view const& p = shape.of();
      // Each gradient counts once: on the first of its holders.
      for (int group = 0; group < p.groups.count(); ++group)
        if (p.groups.holders(group)[0] == device)
          visit(value_key{p.gradient_kind(group), group}, access::read, 0);
      visit(value_key{slot_kind::scalar, gradient_norm}, access::write, 0);
      return;
    }
    case opcode::optimize:
      visit(value_key{shape.of().gradient_kind(i.group), i.group}, access::read, 0);
      if (shape.of().step == optimizer_step::after_norm)
        visit(value_key{slot_kind::scalar, gradient_norm}, access::read, 0);
      return;
  }
}

}  // namespace ashlar
