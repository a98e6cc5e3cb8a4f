// Level "memory-safe": every read finds the value that it is meant to find, nothing is overwritten
// before its last read, and at the end nothing is left unread.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/program/operands.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace ashlar {

// Walks each device's stream and keeps the content of every slot. That is enough for all interleavings
// of the lanes: the waits between lanes follow from the stream's order slot by slot (hazards.hpp).
class slot_walk {
 public:
  // Refers to the program, which is well formed.
  constexpr explicit slot_walk(program const& p) : p_(p), view_(p.view()), shape_(view_) {
    shape_.add_all();
  }

  // Checks a complete program. Linear in operands.
  constexpr diagnosis run() {
    for (int d = 0; d < p_.device_count(); ++d) {
      slots_ = view_.slots_of(d);
      slot_count_ = static_cast<int>(slots_.size());
      contents_ = dynamic_array<content>(slots_.size());
      state_slots_ = dynamic_array<int>(static_cast<std::size_t>(p_.work.job_count()), -1);
      device_ = d;
      stream_ = view_.stream(d);
      int const count = static_cast<int>(stream_.size());
      for (self_ = 0; self_ < count; ++self_) {
        instruction const& self = nth(stream_, self_);
        next_ = view_.operands.first + self.first_operand;
        last_ = next_ + self.operand_count;
        for_each_operand(shape_, d, self, *this);
        if (next_ != last_) complain(rule::slot_holds_what_is_read, -1);
        if (!is_right_) return found_;
      }
      for (std::size_t slot = 0; slot < contents_.size(); ++slot)
        if (contents_[slot].reads_left > 0)
          return {.broken = rule::every_slot_is_freed,
                  .first = place_of(contents_[slot].writer),
                  .number = static_cast<std::int64_t>(slot)};
    }
    return {};
  }

  // The next operand of the instruction has to be used in this way, on a slot of the value's kind.
  constexpr void operator()(value_key const& v, access how, int reads) {
    if (!is_right_) return;
    if (next_ == last_) return complain(rule::slot_holds_what_is_read, -1);
    operand const& o = *next_++;
    if (o.slot < 0 || o.slot >= slot_count_ || o.how != how || slots_.first[o.slot] != v.kind)
      return complain(rule::slot_holds_what_is_read, o.slot);
    content& c = contents_.data()[o.slot];  // nth() takes more steps of constant evaluation
    if (is_of_the_step(v.kind)) return use_of_the_step(v, how, c, o.slot);
    if (how == access::accumulate) {  // a sum of work takes over the slot that only it reads
      if (c.holds != summed_value(view_.work, part_of(v)))
        return complain(rule::slot_holds_what_is_read, o.slot);
      c = {reads == 0 ? value_key{} : v, reads, -1, self_};
      return;
    }
    if (how == access::read) {
      if (c.holds != v) return complain(rule::slot_holds_what_is_read, o.slot);
      --c.reads_left;
      c.reader = self_;
      if (view_.offloads && copies_to_or_from_host(nth(stream_, self_)))
        c.holds = {};  // it is elsewhere from now on
      return;
    }
    if (c.reads_left > 0 || c.reader == self_)  // nor by the reader itself
      return complain(rule::no_slot_is_overwritten_before_its_last_read, o.slot);
    c = {reads == 0 ? value_key{} : v, reads, -1, self_};
  }

 private:
  struct content {
    value_key holds;  // nothing, if of == -1
    int reads_left = 0;
    int reader = -1;  // the last one, in the device's stream
    int writer = -1;  // in the device's stream
  };

  constexpr site place_of(int index) const {
    return index < 0 ? site{} : site_of(nth(stream_, index), device_, index);
  }

  constexpr void complain(rule broken, int slot) {
    if (!is_right_) return;
    is_right_ = false;
    found_ = {.broken = broken, .first = place_of(self_), .number = slot};
    if (slot >= 0 && slot < static_cast<int>(contents_.size()))
      found_.second = place_of(nth(contents_, slot).writer);
  }

  // Nobody counts the reads of these: from a write on they are there until they are given up. It is
  // proved group by group (sharing.hpp) that none is cleared while it is needed. The state of work was
  // there before the step, in the slot where it will be looked for after it.
  constexpr void use_of_the_step(value_key const& v, access how, content& c, int slot) {
    if (v.kind == slot_kind::work_state) {
      int& home = nth(state_slots_, v.of);
      if (home == -1 && c.holds.of == -1) c.holds = v;
      if (home == -1) home = slot;
      if (home != slot) return complain(rule::slot_holds_what_is_read, slot);
    }
    if (how == access::write) {
      bool const clears = nth(stream_, self_).code == opcode::clear;
      if (c.holds.of != -1 && !clears)
        return complain(rule::no_slot_is_overwritten_before_its_last_read, slot);
      c = {v, 0, -1, self_};
      return;
    }
    if (c.holds != v) return complain(rule::slot_holds_what_is_read, slot);
    bool const is_scattered =
        nth(stream_, self_).code == opcode::reduce_scatter && v.kind == slot_kind::weight_gradient;
    if (how == access::scratch || is_scattered) c.holds = {};
  }

  program const& p_;
  program_view view_;
  program_shape shape_;
  int device_ = 0;
  list_view<instruction> stream_;  // of the device
  list_view<slot_kind> slots_;     // of the device
  int slot_count_ = 0;             // of these
  dynamic_array<content> contents_;
  dynamic_array<int> state_slots_;                   // by job
  int self_ = 0;                                     // the instruction looked at, in the device's stream
  operand const *next_ = nullptr, *last_ = nullptr;  // of its operands
  bool is_right_ = true;                             // so far
  diagnosis found_;
};

// The first read that finds another value than the one meant, or write that destroys one, with both
// instructions. Assumes the levels before it. O(operands).
constexpr diagnosis check_memory_safe(program const& p) { return slot_walk(p).run(); }

}  // namespace ashlar
