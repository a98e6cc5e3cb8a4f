// Slot colouring: the fewest buffers that a device's timed values fit into.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/program/instruction.hpp>

#include <cstddef>
#include <vector>

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
  constexpr slot_pool() = default;
  // A pool without slots.
  explicit constexpr slot_pool(slot_reuse reuse) : reuse_(reuse) {}

  // Makes the pool as new. (Assigning a new pool leaks in the constant evaluation of nvcc's front end.)
  constexpr void clear() {
    slots_.clear();
    for (dynamic_array<int>& free : free_) free.clear();
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
        nth(free_, nth(slots_, gone->slot)).push_back(gone->slot);
      }
    leaving_.cut(kept);
  }

  // A free slot of this kind, or a new one.
  constexpr int acquire(slot_kind kind) {
    dynamic_array<int>& free = nth(free_, kind);
    if (free.empty()) {
      slots_.push_back(kind);
      return static_cast<int>(slots_.size()) - 1;
    }
    int const slot = free.back();
    free.pop_back();
    return slot;
  }

  // The slot's value is last used until `time`.
  constexpr void release(int slot, tick time) {
    if (reuse_ != slot_reuse::when_free) return;
    if (time < soonest_) soonest_ = time;
    leaving_.push_back({time, slot});
  }

  constexpr std::vector<slot_kind> const& slots() const { return slots_; }

 private:
  struct departure {
    tick time = 0;
    int slot = 0;
  };

  slot_reuse reuse_ = slot_reuse::when_free;
  std::vector<slot_kind> slots_;
  // Slots by kind. Not a std::array: nvcc's front end does not destroy its elements in constant
  // evaluation.
  std::vector<dynamic_array<int>> free_ = std::vector<dynamic_array<int>>(slot_kinds);
  tick soonest_ = max_tick;           // of those that leave
  dynamic_array<departure> leaving_;  // few: what has ended or is being sent, not what is held
};

}  // namespace ashlar
