// The room that is left in gaps when parts lie in them.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/fill/gaps.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>

namespace ashlar {

// A piece of a gap. What a part leaves free it leaves free at the end of the gap, not before the next
// part.
struct room {
  tick start = 0;
  tick end = 0;
  tick gap_end = 0;

  constexpr tick length() const { return end - start; }
  // Whether a part that starts at `at` fits, with a margin as spare_room() has it.
  constexpr bool holds(tick at, tick duration, int margin) const {
    return at >= start && end - at >= duration && spare_room(gap_end - at, duration, margin) >= 0;
  }
  // When a part starts here at the latest; it need not fit.
  constexpr tick latest_start(tick duration, int margin) const {
    tick const free = (saturating_product(duration, margin) + 99) / 100;
    return min_of(end, gap_end - free) - duration;
  }

  friend constexpr bool operator==(room const&, room const&) = default;
};

// Of a device, in `count` steps of `length` ticks, in order of time.
constexpr dynamic_array<room> rooms_of(schedule const& step, int device, tick length, int count,
                                       bool interlocked) {
  dynamic_array<room> found;
  dynamic_array<idle_time> const once = step_gaps(step, device, length, interlocked);
  for (int i = 0; i < count; ++i)
    for (idle_time const& g : once) {
      tick const end = g.end + i * length;
      found.push_back({g.start + i * length, end, end});
    }
  return found;
}

// Takes the time from `start` to `end` out of a room.
constexpr void occupy(dynamic_array<room>& rooms, std::size_t which, tick start, tick end) {
  room const rest{end, rooms[which].end, rooms[which].gap_end};
  rooms[which].end = start;
  if (rooms[which].length() == 0) {
    rooms[which] = rest;
    return;
  }
  rooms.push_back(rest);
  for (std::size_t i = rooms.size() - 1; i > which + 1; --i) rooms[i] = rooms[i - 1];
  rooms[which + 1] = rest;
}

}  // namespace ashlar
