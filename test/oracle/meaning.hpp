// The meaning of a program's instructions: which values each has to find and leaves behind.
#pragma once

#include "oracle/inventory.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

namespace oracle {

// The action of an instruction on one operand. `bits`: of a write, one bit for each read that is to
// come; of a read, the bit that it takes away; of an accumulation, the bit of the micro-batch.
struct argument {
  access how = access::read;
  tag value;
  unsigned bits = 0;
};

class meaning : public inventory {
 public:
  using inventory::inventory;

  // The values that an instruction of a device takes and gives, in the order of its operands. Nothing if
  // there is no such pass or transfer.
  std::optional<std::vector<argument>> arguments(instruction const& i, int device) const {
    pass const what = i.what;
    int const s = what.stage, k = what.micro_batch;
    if (is_work(i)) return home_of(i) == device ? std::optional{of_work(i)} : std::nullopt;
    if (clears_state(i)) return of_state(i, device);
    if (copies(i)) return of_copy(i, device);
    if (i.code != opcode::compute && i.code != opcode::send && i.code != opcode::receive)
      return of_shared(i, device);
    if (what.kind == pass_kind::work || !exists(what)) return {};
    if (i.code == opcode::compute) {
      auto list = of_pass(what, device);
      if (is_sharded()) list.push_back({access::read, {slot_kind::weight, s, -1, -1}, used});
      for (argument const& a : of_sequence(what)) list.push_back(a);
      for (argument const& a : read_of_work(what)) list.push_back(a);
      return list;
    }

    bool const forward = what.kind == pass_kind::forward;
    if (!forward && what.kind != pass_kind::backward && what.kind != pass_kind::backward_input)
      return {};
    std::vector<int> const reading = readers(s);
    if (forward ? std::find(reading.begin(), reading.end(), i.to) == reading.end() : !joined(i.to, s))
      return {};
    if (forward && first_at(k, s, device_of(k, i.to)) != i.to) return {};
    bool const sends = i.code == opcode::send;
    if (device_of(k, sends ? s : i.to) != device || device_of(k, sends ? i.to : s) != i.peer
        || i.peer == device)
      return {};
    if (!forward)
      return {{{sends ? access::read : access::write,
                {slot_kind::gradient, s, k, i.to},
                sends ? 1 : gradient_bits(s, k, i.to)}}};
    if (sends) return {{{access::read, {slot_kind::activation, s, k, -1}, sent_bit(s, k, i.to)}}};
    return {{{access::write, {slot_kind::activation, s, k, -1}, needed_on(k, s, device)}}};
  }

  // Whether a part of work takes a micro-batch's gradient.
  bool takes_gradient(pass what) const { return gradient_of(what.stage).is<ashlar::take_gradient>(); }

  // The value that a part of a sum finds in its slot.
  tag summed(tag of) const {
    for (ashlar::work_edge const& e : p_.work.edges())
      if (e.to == pass{pass_kind::work, of.stage, of.micro_batch})
        return {slot_kind::work, e.from.stage, e.from.micro_batch, -1};
    return {};
  }

 private:
  // The work that reads what a pass leaves, a bit each from `first` on; and the bit of one of them.
  unsigned work_bits(pass from, int first) const {
    unsigned bits = 0;
    for (ashlar::work_edge const& e : p_.work.edges())
      if (e.from == from) bits = bits << 1 | 1U << first;
    return bits;
  }
  unsigned work_bit(pass from, pass to, int first) const {
    for (ashlar::work_edge const& e : p_.work.edges())
      if (e.from == from) {
        if (e.to == to) break;
        ++first;
      }
    return 1U << first;
  }
  // Reads are in the order of kind, stage (job), micro-batch (part) of what made them.
  std::vector<argument> read_of_work(pass what) const {
    std::vector<pass> from;
    for (ashlar::work_edge const& e : p_.work.edges())
      if (e.to == what) from.push_back(e.from);
    std::sort(from.begin(), from.end(), [](pass a, pass b) {
      return std::tuple{a.kind, a.stage, a.micro_batch} < std::tuple{b.kind, b.stage, b.micro_batch};
    });
    std::vector<argument> list;
    for (pass f : from) {
      bool const stash = f.kind == pass_kind::forward || f.kind == pass_kind::recompute;
      bool const work = f.kind == pass_kind::work;
      list.push_back({access::read,
                      {work    ? slot_kind::work
                       : stash ? slot_kind::stash
                               : slot_kind::weight_stash,
                       f.stage, f.micro_batch, -1},
                      work_bit(f, what,
                               work    ? 0
                               : stash ? 2
                                       : 1)});
    }
    return list;
  }
  std::vector<argument> of_work(instruction const& i) const {
    tag const made{slot_kind::work, i.what.stage, i.what.micro_batch, -1};
    unsigned const readers = work_bits(i.what, 0);
    if (i.code == opcode::all_reduce) return {{access::accumulate, made, readers}};
    std::vector<argument> list = read_of_work(i.what);
    for (argument const& a : of_taken(i.what)) list.push_back(a);
    if (int const owner = state_of(i.what.stage); owner >= 0)
      list.push_back({access::accumulate,
                      {slot_kind::work_state, owner, -1, -1},
                      reads_gradient(i.what) ? 1U << (i.what.micro_batch + state_shift) : 0});
    if (readers != 0) list.push_back({access::write, made, readers});
    return list;
  }

  ashlar::work_job const& job_of(pass what) const { return jobs_[static_cast<std::size_t>(what.stage)]; }
  bool reads_gradient(pass what) const {
    return gradient_of(what.stage).is<ashlar::read_gradient>()
           && what.micro_batch < p_.micro_batch_count();
  }
  // The use of a stage's gradient by a part: it takes what one micro-batch has added (and the jobs that
  // read the copy have a bit each), reads such a copy, or gives back what is to be reduced.
  std::vector<argument> of_taken(pass what) const {
    int const stage =
        gradient_of(what.stage)
            .visit([](ashlar::no_gradient) { return -1; }, [](auto const& use) { return use.stage; });
    tag const gradient{slot_kind::weight_gradient, stage, -1, -1},
        copy{slot_kind::micro_gradient, stage, what.micro_batch, -1};
    unsigned readers = 0, own = 0;
    for (std::size_t other = 0; other < jobs_.size(); ++other) {
      if (gradient_of(static_cast<int>(other)) != ashlar::read_gradient{stage}
          || static_cast<int>(jobs_[other].parts.size()) <= what.micro_batch)
        continue;
      if (static_cast<int>(other) == what.stage) own = readers + 1;
      readers = readers << 1 | 1;
    }
    if (takes_gradient(what))
      return {{access::accumulate, gradient, contribution(stage, stage, what.micro_batch)},
              {readers == 0 ? access::scratch : access::write, copy, readers}};
    if (reads_gradient(what)) return {{access::read, copy, own}};
    if (gradient_of(what.stage).is<ashlar::give_gradient>()) return {{access::accumulate, gradient, 0}};
    return {};
  }
  // A clear is labelled with any part of the job whose state it is.
  std::optional<std::vector<argument>> of_state(instruction const& i, int device) const {
    int const job = i.what.stage;
    if (i.what.kind != pass_kind::work || job < 0 || job >= static_cast<int>(jobs_.size())
        || i.what.micro_batch < 0 || i.what.micro_batch >= static_cast<int>(job_of(i.what).parts.size())
        || i.group != groups() + 1 + job || !clears_state_of(job)
        || !state_devices(job).contains(device))
      return {};
    return {{{access::write, {slot_kind::work_state, job, -1, -1}, cleared}}};
  }

  // A pass on a chunk has to find values of the chunk before (going back: after) it in its sequence, and
  // leaves some for the one after (before) it. A forward's state is for the next forward (bit 0) and for
  // that forward once more (bit 1).
  std::vector<argument> of_sequence(pass what) const {
    int const s = what.stage, k = what.micro_batch, length = p_.graph.sequence_chunks();
    bool const ahead = what.kind == pass_kind::forward, again = what.kind == pass_kind::recompute,
               back = gives_input_gradient(what.kind);
    int const from = back ? k + 1 : k - 1, to = back ? k - 1 : k + 1;
    auto const same_sequence = [&](int other) { return other >= 0 && other / length == k / length; };
    std::vector<argument> list;
    if ((ahead || again) && same_sequence(from))
      list.push_back({access::read, {slot_kind::sequence_state, s, from, -1}, again ? 2U : 1U});
    if (ahead && same_sequence(to)) {
      unsigned const readers = runs(pass_kind::recompute, {pass_kind::forward, s, to}) ? 3 : 1;
      list.push_back({access::write, {slot_kind::sequence_state, s, k, -1}, readers});
    }
    if (back && same_sequence(from))
      list.push_back({access::read, {slot_kind::sequence_gradient, s, from, -1}, 1});
    if (back && same_sequence(to))
      list.push_back({access::write, {slot_kind::sequence_gradient, s, k, -1}, 1});
    return list;
  }

  // The values that a forward keeps go to the host once, and come back for those that go backward.
  // Nobody else may want them.
  std::optional<std::vector<argument>> of_copy(instruction const& i, int device) const {
    pass const what = i.what;
    if (what.kind != pass_kind::forward || !exists(what) || p_.mode == execution_mode::inference
        || device_of(what.micro_batch, what.stage) != device || work_bits(what, 0) != 0)
      return {};
    bool const again = runs(pass_kind::recompute, what);
    tag const kept{again ? slot_kind::checkpoint : slot_kind::stash, what.stage, what.micro_batch, -1};
    tag const away{again ? slot_kind::host_checkpoint : slot_kind::host_stash, what.stage,
                   what.micro_batch, -1};
    if (i.code == opcode::offload) return {{{access::read, kept, leaving}, {access::write, away, 1}}};
    unsigned const readers = again ? 1 : runs(pass_kind::backward_weight, what) ? 3 : 1;
    return {{{access::read, away, 1}, {access::write, kept, readers}}};
  }

  tag whole_gradient(int group) const {
    return {is_sharded(group) ? slot_kind::gradient_shard : slot_kind::weight_gradient, group, -1, -1};
  }

  std::optional<std::vector<argument>> of_shared(instruction const& i, int device) const {
    tag const scalar{slot_kind::scalar, 0, -1, -1};
    if (i.group > groups()) return {};
    bool const of_all = i.group == groups();
    if (of_all != (i.subject == slot_kind::scalar)) return {};
    if (i.group < 0 || !holds(device, i.group)) return {};
    // It is labelled with the first stage of its group.
    if (i.what.stage != (of_all ? 0 : groups_[static_cast<std::size_t>(i.group)][0])) return {};
    if (of_all) {
      std::vector<argument> list;
      if (i.code == opcode::all_reduce) list.push_back({access::accumulate, scalar, sum});
      if (i.code != opcode::measure) return list.empty() ? std::nullopt : std::optional{list};
      for (int g = 0; g < groups(); ++g)  // each gradient is measured by its first holder
        if (holders(g)[0] == device) list.push_back({access::read, whole_gradient(g), reduced});
      list.push_back({access::write, scalar, part});
      return list;
    }
    argument const weights{access::write, {slot_kind::weight, i.group, -1, -1}, resident},
        given_up{access::scratch, weights.value, resident | used};
    tag const gradient{slot_kind::weight_gradient, i.group, -1, -1};
    switch (i.code) {
      case opcode::all_reduce:
        if (i.subject != whole_gradient(i.group).kind) return {};
        return {{{access::accumulate, whole_gradient(i.group), 0}}};
      case opcode::clear:
        if (i.subject != slot_kind::weight_gradient
            && (!is_sharded(i.group) || i.subject != slot_kind::gradient_shard))
          return {};
        return {{{access::write, {i.subject, i.group, -1, -1}, cleared}}};
      case opcode::optimize: {
        std::vector<argument> list{{access::read, whole_gradient(i.group), stepped}};
        if (p_.step == ashlar::optimizer_step::after_norm) list.push_back({access::read, scalar, sum});
        return list;
      }
      case opcode::all_gather:
        if (!is_sharded(i.group)) return {};
        return {{weights}};
      case opcode::release:
        if (!is_sharded(i.group)) return {};
        return {{given_up}};
      case opcode::reduce_scatter:
        if (!is_sharded(i.group)) return {};
        return {{{access::read, gradient, 0},
                 {access::accumulate, {slot_kind::gradient_shard, i.group, -1, -1}, 0}}};
      default:
        return {};
    }
  }

  std::vector<argument> of_pass(pass what, int device) const {
    int const s = what.stage, k = what.micro_batch;
    bool const again = runs(pass_kind::recompute, what);
    // The passes that go backward read the stash: the input's pass (bit 0) and the weights' (bit 1).
    unsigned const back_readers = p_.mode == execution_mode::inference     ? 0
                                  : runs(pass_kind::backward_weight, what) ? 3
                                                                           : 1;
    unsigned const stash_readers = back_readers | work_bits(what, 2);
    access const keeps = stash_readers == 0 ? access::scratch : access::write;
    tag const stash{slot_kind::stash, s, k, -1}, checkpoint{slot_kind::checkpoint, s, k, -1},
        weight_stash{slot_kind::weight_stash, s, k, -1};
    std::vector<argument> list;
    list.reserve(8);
    auto const accumulate = [&] {
      for (int g = 0; g < groups(); ++g)
        if (std::vector<int> const& all = groups_[static_cast<std::size_t>(g)];
            std::find(all.begin(), all.end(), s) != all.end())
          list.push_back(
              {access::accumulate, {slot_kind::weight_gradient, g, -1, -1}, contribution(g, s, k)});
    };
    auto const give_gradient = [&] {
      for (int before : p_.graph.predecessors(s))
        list.push_back({access::write,
                        {slot_kind::gradient, s, k, before},
                        device_of(k, before) == device ? gradient_bits(s, k, before) : 1});
    };
    switch (what.kind) {
      case pass_kind::forward:
        for (int before : p_.graph.predecessors(s))
          for (int j : meeting(s, k, before))
            list.push_back(
                {access::read, {slot_kind::activation, before, j, -1}, next_bit(before, j, s, k)});
        if (!readers(s).empty())
          list.push_back({access::write, {slot_kind::activation, s, k, -1}, needed_from(k, s, device)});
        if (is_early(s) && back_readers != 0) give_gradient();
        if (again) list.push_back({access::write, checkpoint, leaves(what) ? leaving : 1});
        list.push_back({again ? access::scratch : keeps, stash,
                        again          ? 0
                        : leaves(what) ? leaving
                                       : stash_readers});
        break;
      case pass_kind::recompute:
        list.push_back({access::read, checkpoint, 1});
        list.push_back({keeps, stash, stash_readers});
        break;
      case pass_kind::backward:
      case pass_kind::backward_input: {
        bool const fused = what.kind == pass_kind::backward;
        for (int after : p_.graph.successors(s))
          for (int j : meeting(s, k, after))
            list.push_back(
                {access::read, {slot_kind::gradient, after, j, s}, gradient_bit(after, j, s, k)});
        list.push_back({access::read, stash, 1});
        if (is_shard(s))
          for (int other : readers(s))
            list.push_back(
                {access::read, {slot_kind::activation, other, k, -1}, next_bit(other, k, s, k)});
        if (!is_early(s)) give_gradient();
        unsigned const readers = (fused ? 0U : 1U) | work_bits(what, 1);
        list.push_back({readers == 0 ? access::scratch : access::write, weight_stash, readers});
        if (fused) accumulate();
        break;
      }
      case pass_kind::backward_weight:
        list.push_back({access::read, stash, 2});
        list.push_back({access::read, weight_stash, 1});
        accumulate();
        break;
      case pass_kind::work:
        break;
    }
    return list;
  }
};

}  // namespace oracle
