// Slot colouring: the fewest buffers that a device's timed values fit into.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/program/instruction.hpp>

#include <cstddef>

namespace ashlar {

// When a slot may hold another value.
enum class slot_reuse : unsigned char {
  when_free,  // the fewest slots
  never,      // a slot a value: nothing ever waits for a buffer
};

// Gives values slots in the order in which they begin. A value holds its slot from the start of its
// writer to the end of its last reader. A new slot is opened only when all slots of the kind are held.
// So the number of slots is the largest number of values alive at once, which is the minimum (greedy
// colouring of intervals).
class slot_pool {
 public:
  // A pool without slots.
  explicit constexpr slot_pool(slot_reuse reuse = slot_reuse::when_free) : reuse_(reuse) { clear(); }

  // Makes the pool as new. (Assigning a new pool leaks in the constant evaluation of nvcc's front end.)
  constexpr void clear() {
    slots_.clear();
    next_free_.clear();
    for (int& first : free_) first = none;
    leaving_.clear();
    soonest_ = max_tick;
  }

  // Moves the time on to `now`: slots that were released until then are free again.
  constexpr void advance(tick now) {
    if (now < soonest_) return;
    soonest_ = max_tick;
    departure* kept = leaving_.begin();
    for (departure const *gone = kept, *const end = leaving_.end(); gone != end; ++gone)
      if (gone->time > now) {
        if (gone->time < soonest_) soonest_ = gone->time;
        *kept++ = *gone;
      } else {
        int& first = free_[static_cast<std::size_t>(nth(slots_, gone->slot))];
        nth(next_free_, gone->slot) = first;
        first = gone->slot;
      }
    leaving_.cut(kept);
  }

  // A free slot of this kind, or a new one.
  constexpr int acquire(slot_kind kind) {
    int& first = free_[static_cast<std::size_t>(kind)];
    if (first == none) {
      slots_.push_back(kind);
      next_free_.push_back(none);
      return static_cast<int>(slots_.size()) - 1;
    }
    int const slot = first;
    first = nth(next_free_, slot);
    return slot;
  }

  // The slot's value is last used until `time`.
  constexpr void release(int slot, tick time) {
    if (reuse_ != slot_reuse::when_free) return;
    if (time < soonest_) soonest_ = time;
    leaving_.push_back({time, slot});
  }

  constexpr dynamic_array<slot_kind> const& slots() const { return slots_; }

 private:
  static constexpr int none = -1;

  struct departure {
    tick time;
    int slot;
  };

  slot_reuse reuse_ = slot_reuse::when_free;
  dynamic_array<slot_kind> slots_;
  int free_[slot_kinds];              // by kind: the first free slot of a list
  dynamic_array<int> next_free_;      // by slot: the next one of its list
  tick soonest_ = max_tick;           // of those that leave
  dynamic_array<departure> leaving_;  // few: what has ended or is being sent, not what is held
};

}  // namespace ashlar
