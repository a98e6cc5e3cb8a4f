// A hash of a program, the same on every machine and compiler.
#pragma once

#include <ashlar/core/splitmix.hpp>
#include <ashlar/program/program.hpp>

#include <cstdint>

namespace ashlar {

// Mixes numbers one after another, each by a bijection, so that what differs in one number alone never
// collides.
class hasher {
 public:
  // Adds a number to the hash.
  constexpr void add(std::uint64_t number) { state_ = mixed(state_ + number + splitmix_step); }
  // Negative numbers are added modulo 2^64.
  template <class... Numbers>
  constexpr void add_all(Numbers... numbers) {
    (add(static_cast<std::uint64_t>(numbers)), ...);
  }
  template <class T>
  constexpr void add_list(list_view<T> list) {
    add(list.size());
    for (T const& number : list) add_all(number);
  }
  constexpr std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

// Of all that a backend sees of a program. Linear in its size.
constexpr std::uint64_t hash(program_view const& p) {
  hasher h;
  h.add_all(p.device_count, p.stage_count, p.micro_batch_count, p.lane_count, p.data_ranks, p.sharding,
            p.step, p.graph.sequence_chunks);
  for (int stage = 0; stage < p.stage_count; ++stage) h.add_list(p.graph.predecessors(stage));
  h.add_list(p.graph.sizes);
  h.add_list(p.where);
  h.add_list(p.route);
  h.add_list(p.groups.holder_begin);
  h.add_list(p.groups.holder);
  h.add_list(p.groups.stage_begin);
  h.add_list(p.groups.stage);
  h.add(p.instructions.size());
  for (instruction const& i : p.instructions)
    h.add_all(i.code, i.subject, i.overlaps_next, i.lane, i.what.kind, i.what.stage, i.what.micro_batch,
              i.to, i.peer, i.group, i.first_operand, i.operand_count);
  h.add_list(p.stream_begin);
  h.add(p.operands.size());
  for (operand const& o : p.operands) h.add_all(o.slot, o.how);
  h.add_list(p.slots);
  h.add_list(p.slot_begin);
  h.add(p.work.jobs.size());
  for (work_view::job const& j : p.work.jobs)
    h.add_all(j.first_part, j.kind, j.keeps_state, j.over_ranks, j.clears_state, j.shares_state_of,
              j.gradient, j.stage);
  h.add(p.work.parts.size());
  for (work_part const& part : p.work.parts) h.add_all(part.device, part.duration);
  h.add(p.work.into.size());
  for (work_edge const& e : p.work.into)
    h.add_all(e.from.kind, e.from.stage, e.from.micro_batch, e.to.kind, e.to.stage, e.to.micro_batch);
  return h.value();
}

}  // namespace ashlar
