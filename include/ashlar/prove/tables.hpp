// The condition of every proof: a view whose tables can be read.
#pragma once

#include <ashlar/core/list_view.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/program/program.hpp>

#include <cstddef>

namespace ashlar {

// Whether instruction `i` of a stream that ends before `end` can overlap the next: a forward and a
// backward, an input or a weight pass, neither of which writes a slot that the other uses.
constexpr bool overlaps_well(program_view const& p, int i, int end) {
  if (i + 1 == end) return false;
  instruction const &self = nth(p.instructions, i),
                    &other = p.instructions[static_cast<std::size_t>(i) + 1];
  if (self.code != opcode::compute || other.code != opcode::compute || self.lane != other.lane
      || other.overlaps_next || self.what.kind != pass_kind::forward || !is_backward(other.what.kind))
    return false;
  for (operand const& mine : p.operands_of(self))
    for (operand const& theirs : p.operands_of(other))
      if (mine.slot == theirs.slot && (mine.how != access::read || theirs.how != access::read))
        return false;
  return true;
}

// Checks that all but passes, transfers and copies are about parameters that the device holds, or about
// a scalar of everyone, and are labelled with the first stage that uses them; or they sum the device's
// part of collective work, or clear what a job keeps there.
constexpr bool names_a_group_rightly(program_view const& p, instruction const& i, int device) {
  if (i.code == opcode::compute || i.code == opcode::send || i.code == opcode::receive
      || copies_to_or_from_host(i))
    return true;
  work_view const& work = p.work;
  part_id const named = part_of(i.what);
  if (sums_work(i))
    return work.knows(i.what) && work.is_collective(named.job) && i.group == group_of_job(p, named.job)
           && work.part(named).device == device;
  if (i.code == opcode::clear && i.subject == slot_kind::work_state) {
    if (!work.knows(i.what) || i.group != group_of_job(p, named.job)) return false;
    bool is_here = false;
    for (int job = 0; job < work.job_count(); ++job)
      for (int k = 0;
           k < work.part_count(job) && work.uses_state(job) && work.state_of(job) == named.job; ++k)
        is_here = is_here || work.part({job, k}).device == device;
    return is_here && work.clears_state(named.job);
  }
  bool const of_everyone = i.subject == slot_kind::scalar;
  if (of_everyone != (i.group == p.groups.everyone())) return false;
  if (of_everyone)
    return i.what.stage == 0 && (i.code == opcode::measure || i.code == opcode::all_reduce);
  if (i.group < 0 || i.group >= p.groups.count() || p.groups.member_of(i.group, device) < 0)
    return false;
  if (i.what.stage != p.groups.stages(i.group)[0]) return false;
  bool const sharded = p.sharding != sharding_level::none && i.group < p.stage_count;
  switch (i.code) {
    case opcode::all_reduce:
      return i.subject == p.gradient_kind(i.group);
    case opcode::clear:
      return i.subject == slot_kind::weight_gradient
             || (sharded && i.subject == slot_kind::gradient_shard);
    case opcode::all_gather:
    case opcode::release:
    case opcode::reduce_scatter:
      return sharded;
    default:
      return i.code == opcode::optimize;
  }
}

// Whether the begins of the devices ascend from 0 to the size of the table, and so stay inside.
constexpr bool are_begins(list_view<int> begin, int device_count, std::size_t size) {
  if (device_count < 0 || begin.size() != static_cast<std::size_t>(device_count) + 1 || begin[0] != 0
      || begin[begin.size() - 1] != static_cast<int>(size))
    return false;
  for (std::size_t at = 0; at + 1 < begin.size(); ++at)
    if (begin[at] > begin[at + 1]) return false;
  return true;
}

// Checks that a view can be read, with any instructions, operands, slots and begins: sizes agree, every
// index stays inside, every enumerator is one. Peers, and the micro-batches of passes, may be unknown.
// Linear in instructions and operands.
constexpr diagnosis check_tables(program_view const& p) {
  if (p.device_count < 1 || p.micro_batch_count < 1 || p.data_ranks < 1)
    return {.broken = rule::counts_are_positive};
  if (!are_begins(p.stream_begin, p.device_count, p.instructions.size())
      || !are_begins(p.slot_begin, p.device_count, p.slots.size()) || p.groups.count() < p.stage_count)
    return {.broken = rule::tables_agree};
  for (slot_kind kind : p.slots)
    if (static_cast<int>(kind) >= slot_kinds) return {.broken = rule::tables_agree};
  instruction const* const all = p.instructions.data();
  int const operand_total = static_cast<int>(p.operands.size());
  for (int d = 0; d < p.device_count; ++d) {
    auto const at = static_cast<std::size_t>(d);
    int const slots = p.slot_begin[at + 1] - p.slot_begin[at];
    int const begin = stream_begin(p, d), end = stream_end(p, d);
    int i = begin;
    auto const where = [&] { return site_of(all[i], d, i - begin); };
    for (; i < end; ++i) {
      instruction const& self = all[i];
      bool const is_of_a_stage = self.code == opcode::compute ? self.what.kind != pass_kind::work
                                                              : copies_to_or_from_host(self);
      if (self.code > opcode::reload || self.what.kind > pass_kind::work
          || (is_of_a_stage && (self.what.stage < 0 || self.what.stage >= p.stage_count)))
        return {.broken = rule::every_pass_is_known, .first = where()};
      if (self.lane < 0 || self.lane >= p.lane_count || self.first_operand < 0 || self.operand_count < 0
          || self.operand_count > operand_total
          || self.first_operand > operand_total - self.operand_count)
        return {.broken = rule::tables_agree, .first = where()};
      operand const* const used = p.operands.data() + self.first_operand;
      for (operand const *o = used, *const last = used + self.operand_count; o != last; ++o)
        if (o->slot < 0 || o->slot >= slots || o->how > access::scratch)
          return {.broken = rule::slot_holds_what_is_read, .first = where(), .number = o->slot};
      if (self.code > opcode::receive && !names_a_group_rightly(p, self, d))
        return {.broken = rule::group_is_held_where_it_is_named, .first = where(), .number = self.group};
    }
    // This comes when the operands of both are known to exist.
    for (i = begin; i < end; ++i)
      if (all[i].overlaps_next && !overlaps_well(p, i, end))
        return {.broken = rule::overlapped_passes_are_a_pair, .first = where()};
  }
  return {};
}

}  // namespace ashlar
