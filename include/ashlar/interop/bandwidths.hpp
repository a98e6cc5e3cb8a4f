// Links as they are measured or bought: bytes in a time that is not a whole number of ticks.
#pragma once

#include <ashlar/core/machine.hpp>

#include <algorithm>
#include <cmath>

namespace ashlar {

// The link that takes so many bytes (finite, less than 1e15) in a tick, within a thousandth for 1e-9
// bytes and more. With 0, bytes take no time.
inline link_speed link_speed_of(tick latency, double bytes_per_tick) {
  link_speed link{.latency = latency};
  if (!(bytes_per_tick > 0)) return link;
  while (link.period < 1'000'000'000'000
         && std::abs(std::round(bytes_per_tick) - bytes_per_tick) > bytes_per_tick / 1000) {
    bytes_per_tick *= 10;
    link.period *= 10;
  }
  link.bandwidth = std::max<byte_count>(1, std::llround(bytes_per_tick));
  return link;
}

}  // namespace ashlar
