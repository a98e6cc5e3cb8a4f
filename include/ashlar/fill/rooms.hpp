// The room that is left in gaps when parts lie in them.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/fill/gaps.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>

namespace ashlar {

// A piece of a gap. A part leaves its margin free at the end of the gap, not before the next part.
struct room : idle_time {
  tick gap_end = 0;

  // Whether a part that starts at `at` fits, with a margin as spare_room() has it.
  bool holds(tick at, tick duration, int margin) const {
    return at >= start && end - at >= duration && spare_room(gap_end - at, duration, margin) >= 0;
  }
  // The latest start of a part here; it need not fit.
  tick latest_start(tick duration, int margin) const {
    tick const free = (saturating_product(duration, margin) + 99) / 100;
    return min_of(end, gap_end - free) - duration;
  }

  friend constexpr bool operator==(room const&, room const&) = default;
};

// The rooms of a device, in `count` steps of `length` ticks, in order of time.
dynamic_array<room> rooms_of(schedule const& step, int device, tick length, int count, bool interlocked);

// Takes the time from `start` to `end` out of a room.
void occupy(dynamic_array<room>& rooms, std::size_t which, tick start, tick end);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/fill/rooms.ipp>
#endif
