// The idle times of a device.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>

namespace ashlar {

struct idle_time {
  tick start = 0;
  tick end = 0;

  constexpr tick length() const { return end - start; }

  friend constexpr bool operator==(idle_time const&, idle_time const&) = default;
};

// Those of a device from tick 0 to `length`, in order of time. Linear.
constexpr dynamic_array<idle_time> gaps_of(schedule const& s, int device, tick length) {
  dynamic_array<idle_time> found;
  tick free = 0;
  for (timed_pass const& t : nth(s.order, device)) {
    if (t.start > free) found.push_back({free, t.start});
    free = max_of(free, s.end_of(t, device));
  }
  if (length > free) found.push_back({free, length});
  return found;
}

// Those of a step of `length` ticks that others follow. Interlocked, a device's step lasts from its
// first pass to that of the next step, so that its last gap goes on into the next step and what it idles
// before its first pass belongs to the step before.
constexpr dynamic_array<idle_time> step_gaps(schedule const& step, int device, tick length,
                                             bool interlocked) {
  dynamic_array<idle_time> const all = gaps_of(step, device, length);
  auto const& order = nth(step.order, device);
  tick const first = order.empty() ? 0 : order.front().start;
  if (!interlocked || first == 0) return all;
  dynamic_array<idle_time> found;
  for (std::size_t i = 1; i < all.size(); ++i) found.push_back(all[i]);
  if (!found.empty() && found.back().end == length)
    found.back().end += first;
  else
    found.push_back({length, length + first});
  return found;
}

// What a part of `duration` leaves of `room` ticks if it leaves `margin` percent of its duration free,
// in hundredths of a tick; negative if it does not fit.
constexpr tick spare_room(tick room, tick duration, int margin) {
  if (room < duration) return -1;
  return saturating_product(room - duration, 100) - saturating_product(duration, margin);
}

}  // namespace ashlar
