// Definitions of rooms.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/fill/rooms.hpp>

namespace ashlar {

ASHLAR_INLINE dynamic_array<room> rooms_of(schedule const& step, int device, tick length, int count,
                                           bool interlocked) {
  dynamic_array<room> found;
  dynamic_array<idle_time> const once = step_gaps(step, device, length, interlocked);
  for (int i = 0; i < count; ++i)
    for (idle_time const& g : once) {
      tick const end = g.end + i * length;
      found.push_back({{g.start + i * length, end}, end});
    }
  return found;
}

ASHLAR_INLINE void occupy(dynamic_array<room>& rooms, std::size_t which, tick start, tick end) {
  room const rest{{end, rooms[which].end}, rooms[which].gap_end};
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
