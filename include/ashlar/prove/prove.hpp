// The proofs of a program, level by level; each level presupposes the ones before.
#pragma once

#include <ashlar/prove/complete.hpp>
#include <ashlar/prove/deadlock_free.hpp>
#include <ashlar/prove/memory_safe.hpp>
#include <ashlar/prove/ordered.hpp>

#include <cstddef>

namespace ashlar {

// Instruction `i` of a stream that ends before `end`, run overlapped with the next: a forward and a
// fused backward, neither of which writes what the other uses.
constexpr bool overlaps_well(program const& p, int i, int end) {
  if (i + 1 == end) return false;
  instruction const &self = p.instructions[static_cast<std::size_t>(i)],
                    &other = p.instructions[static_cast<std::size_t>(i) + 1];
  if (self.code != opcode::compute || other.code != opcode::compute || self.lane != other.lane
      || other.overlaps_next || self.what.kind != pass_kind::forward
      || other.what.kind != pass_kind::backward)
    return false;
  for (operand const& mine : p.view().operands_of(self))
    for (operand const& theirs : p.view().operands_of(other))
      if (mine.slot == theirs.slot && (mine.how != access::read || theirs.how != access::read))
        return false;
  return true;
}

// All but passes and transfers are about parameters that the device holds, or about a scalar of
// everyone.
constexpr bool names_a_group_rightly(program const& p, instruction const& i, int device) {
  if (i.code == opcode::compute || i.code == opcode::send || i.code == opcode::receive) return true;
  bool const of_everyone = i.subject == slot_kind::scalar;
  if (of_everyone != (i.group == p.groups.everyone())) return false;
  if (of_everyone && i.what.stage != 0) return false;
  if (of_everyone) return i.code == opcode::measure || i.code == opcode::all_reduce;
  if (i.group < 0 || i.group >= p.groups.count() || p.groups.member_of(i.group, device) < 0)
    return false;
  if (i.what.stage != p.groups.stages(i.group)[0]) return false;
  bool const sharded = p.sharding != sharding_level::none && i.group < p.stage_count();
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

// Tables have consistent sizes and every index stays inside: what the levels rely on when they read the
// program.
constexpr diagnosis check_well_formed(program const& p) {
  auto const ends = static_cast<std::size_t>(p.device_count()) + 1;
  if (p.device_count() < 1 || p.route.empty() || p.data_ranks < 1)
    return {.broken = rule::counts_are_positive};
  if (p.graph.count() != p.stage_count() || p.stream_begin.size() != ends || p.slot_begin.size() != ends
      || p.stream_begin.back() != static_cast<int>(p.instructions.size())
      || p.slot_begin.back() != static_cast<int>(p.slots.size()))
    return {.broken = rule::tables_agree};
  if (diagnosis const d = check_routes(p.graph, p.where, p.route); !d.ok()) return d;
  if (!p.groups.belong_to(p.where)) return {.broken = rule::tables_agree, .number = p.groups.count()};
  // All begins before any is followed: begins that ascend from 0 to the size stay inside.
  if (p.stream_begin.front() != 0 || p.slot_begin.front() != 0) return {.broken = rule::tables_agree};
  for (std::size_t at = 0; at + 1 < ends; ++at)
    if (p.stream_begin[at] > p.stream_begin[at + 1] || p.slot_begin[at] > p.slot_begin[at + 1])
      return {.broken = rule::tables_agree};
  auto const operands = static_cast<int>(p.operands.size());
  for (int d = 0; d < p.device_count(); ++d) {
    auto const at = static_cast<std::size_t>(d);
    int const slots = p.slot_begin[at + 1] - p.slot_begin[at];
    for (int i = p.stream_begin[at]; i < p.stream_begin[at + 1]; ++i) {
      instruction const& self = p.instructions[static_cast<std::size_t>(i)];
      site const where = site_of(self, d, i - p.stream_begin[at]);
      if (self.lane < 0 || self.lane > p.collective_lane() || self.first_operand < 0
          || self.operand_count < 0 || self.operand_count > operands
          || self.first_operand > operands - self.operand_count)
        return {.broken = rule::tables_agree, .first = where};
      for (int o = 0; o < self.operand_count; ++o) {
        int const slot = p.operands[static_cast<std::size_t>(self.first_operand + o)].slot;
        if (slot < 0 || slot >= slots)
          return {.broken = rule::slot_holds_what_is_read, .first = where, .number = slot};
      }
      if (!names_a_group_rightly(p, self, d))
        return {.broken = rule::group_is_held_where_it_is_named, .first = where, .number = self.group};
      if (self.overlaps_next && !overlaps_well(p, i, p.stream_begin[at + 1]))
        return {.broken = rule::overlapped_passes_are_a_pair, .first = where};
    }
  }
  return {};
}

// The first broken rule of the first broken level: complete, ordered, deadlock-free under rendezvous,
// memory-safe. Linear in instructions and operands.
constexpr diagnosis check(program const& p) {
  if (diagnosis const d = check_well_formed(p); !d.ok()) return d;
  message_index index(p);
  if (diagnosis const d = check_complete(p, index); !d.ok()) return d;
  if (diagnosis const d = check_ordered(p, index); !d.ok()) return d;
  if (diagnosis const d = check_deadlock_free(p, index); !d.ok()) return d;
  return check_memory_safe(p);
}

// For a program that is complete but not deadlock-free: the instructions of one circle, each waiting for
// the next. Empty for a program that has none.
constexpr std::vector<site> find_wait_cycle(program const& p) {
  if (!check_well_formed(p).ok()) return {};
  message_index index(p);
  if (!check_complete(p, index).ok()) return {};
  rendezvous_machine machine(p, index);
  if (machine.run().ok()) return {};
  return machine.cycle();
}

}  // namespace ashlar
