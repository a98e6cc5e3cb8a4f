// The idle times of a device.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/schedule/metrics.hpp>

namespace ashlar {

// The idle times of a device from tick 0 to `length`, in order of time. Linear.
dynamic_array<idle_time> gaps_of(schedule const& s, int device, tick length);

// The idle times in a step of `length` ticks that others follow. Interlocked, a device's step lasts from
// its first pass to that of the next step, so that its last gap goes on into the next step and any idle
// time before its first pass belongs to the step before.
dynamic_array<idle_time> step_gaps(schedule const& step, int device, tick length, bool interlocked);

// Hundredths of a tick that a part of `duration` leaves in `room` ticks if it leaves `margin` percent of
// its duration free; negative if it does not fit.
inline tick spare_room(tick room, tick duration, int margin) {
  if (room < duration) return -1;
  return saturating_product(room - duration, 100) - saturating_product(duration, margin);
}

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/fill/gaps.ipp>
#endif
