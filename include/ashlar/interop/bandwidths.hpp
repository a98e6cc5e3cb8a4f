// Converts the bandwidth of a link, any number of bytes per tick, to whole numbers.
#pragma once

#include <ashlar/core/machine.hpp>

#include <algorithm>
#include <cmath>

namespace ashlar {

// The link with this many bytes per tick (finite, less than 1e15), within a thousandth for 1e-9 bytes
// and more. With 0, bytes take no time.
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
