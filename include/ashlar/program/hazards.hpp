// The waits of an instruction on its own device: derived from slots, never written by hand.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/program/program.hpp>

#include <cstddef>

namespace ashlar {

// How many waits of an instruction are named.
enum class wait_detail : unsigned char {
  last_of_a_lane,  // enough where the instructions of a lane end in its order
  all,             // each one, those of its own lane too
  any_pass_order,  // and what is left of the order of passes, where a device may start a later one first
};

// Whether a device may start this before passes that stand before it: a pass of a stage. All else on the
// lane of passes, and work of jobs, keeps its place among all of them.
constexpr bool may_go_ahead(instruction const& i) {
  return i.code == opcode::compute && i.what.kind < pass_kind::work;
}

// The earlier instructions of other lanes that each instruction of a stream has to wait for: those that
// made what it reads, and those that still use what it overwrites. (Its own lane runs in order anyway.)
// For each lane that is at most one instruction, the last. The engine waits for exactly these, and the
// proofs reason about exactly these.
class wait_table {
 public:
  // The instructions that an instruction waits for, by index into the device's stream.
  constexpr list_view<int> of(int index) const {
    auto const i = static_cast<std::size_t>(index);
    return {on_.data() + begin_[i], on_.data() + begin_[i + 1]};
  }
  // Those of all instructions, one after the other, and where those of each begin.
  constexpr list_view<int> all() const { return on_; }
  constexpr list_view<int> begins() const { return begin_; }

 private:
  friend constexpr wait_table waits(program_view const& p, int device, wait_detail detail);

  dynamic_array<int> begin_ = dynamic_array<int>(1);
  dynamic_array<int> on_;
};

// The waits of one device's stream, by position. Linear in the operands times the lanes that share a
// slot (two or three).
//
// With wait_detail::any_pass_order, a pass also waits for the one before it of the same kind and stage,
// so these keep the order of their micro-batches; and what may not go ahead waits for all passes before
// it and is waited for by all after it. Every wait is for an instruction that stands earlier in the
// stream, so these are fewer orders than the lane's own: a program free of cycles with the lane in
// order is so without. And any two instructions that use a slot, one of them not to read it, are in the
// order of the stream: each reads what it would have read, and sums are added in the same order.
constexpr wait_table waits(program_view const& p, int device,
                           wait_detail detail = wait_detail::last_of_a_lane) {
  // The uses of a slot since its last write: the writer, and its readers as a list through `reads`.
  struct use_list {
    int writer = -1;
    int last_read = -1;
  };
  struct slot_read {
    int reader;
    int earlier;
  };
  list_view<instruction> const stream = p.stream(device);
  dynamic_array<use_list> uses(p.slots_of(device).size());
  dynamic_array<slot_read> reads;
  std::size_t operands = 0;
  for (instruction const& i : stream) operands += static_cast<std::size_t>(i.operand_count);
  reads.reserve(operands);
  wait_table table;
  dynamic_array<int>& on = table.on_;
  table.begin_.reserve(stream.size() + 1);
  on.reserve(2 * operands);  // each waits for a writer, and each read is waited for, at most once
  int self = 0;
  std::size_t first = 0;  // of this instruction's waits
  bool const any_order = detail == wait_detail::any_pass_order;
  dynamic_array<int> before;  // of each stage and kind: the last pass
  dynamic_array<int> passes;  // since the last that keeps its place
  int in_place = -1;          // that one
  if (any_order) before = dynamic_array<int>(static_cast<std::size_t>(p.stage_count) * pass_kinds, -1);

  instruction const* const all = stream.data();
  use_list* const by_slot = uses.data();
  auto const wait_for = [&](int index, int lane) {
    if (index == self) return;
    if (detail != wait_detail::last_of_a_lane) return on.push_back(index);
    int const other = all[index].lane;
    if (other == lane) return;
    if (on.size() != first)
      for (int *known = on.data() + first, *const end = on.end(); known != end; ++known)
        if (all[*known].lane == other) {
          if (*known < index) *known = index;
          return;
        }
    on.push_back(index);
  };

  for (instruction const& i : stream) {
    operand const* const used = p.operands.data() + i.first_operand;
    for (operand const *at = used, *const end = used + i.operand_count; at != end; ++at) {
      operand const& o = *at;
      use_list& slot = by_slot[o.slot];
      if (slot.writer >= 0 && slot.writer != self) wait_for(slot.writer, i.lane);
      if (o.how == access::read) {
        reads.push_back({self, slot.last_read});
        slot.last_read = static_cast<int>(reads.size()) - 1;
        continue;
      }
      for (int r = slot.last_read; r >= 0;) {
        slot_read const& use = nth(reads, r);
        wait_for(use.reader, i.lane);
        r = use.earlier;
      }
      slot = {self, -1};
    }
    if (any_order && i.lane == compute_lane) {
      if (in_place >= 0) wait_for(in_place, i.lane);
      if (may_go_ahead(i)) {
        int& last = nth(before, i.what.stage * pass_kinds + static_cast<int>(i.what.kind));
        if (last >= 0) wait_for(last, i.lane);
        last = self;
        passes.push_back(self);
      } else {
        for (int const pass : passes) wait_for(pass, i.lane);
        passes.clear();
        in_place = self;
      }
    }
    first = on.size();
    table.begin_.push_back(static_cast<int>(first));
    ++self;
  }
  return table;
}

}  // namespace ashlar
