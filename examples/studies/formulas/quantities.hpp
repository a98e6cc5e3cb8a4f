// Converts floating-point seconds and bytes of any size to whole ticks and bytes.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/ticks.hpp>

namespace formulas {

using namespace ashlar;

// Nanoseconds as ticks; a pass has at least one. Throws violation{rule::ticks_fit} for NaN, negative
// numbers and overflow.
inline tick nanoseconds(double seconds) {
  double const ticks = seconds * 1e9 + 0.5;
  if (!(seconds >= 0 && ticks < static_cast<double>(max_tick)))
    refuse({.broken = rule::ticks_fit, .number = seconds < 0 ? 0 : max_tick});
  return max_of(tick{1}, static_cast<tick>(ticks));
}

// Rounds down. Throws violation{rule::sizes_fit} likewise.
inline byte_count whole_bytes(double bytes) {
  if (!(bytes >= 0 && bytes < static_cast<double>(max_tick)))
    refuse({.broken = rule::sizes_fit, .number = bytes < 0 ? -1 : max_tick});
  return static_cast<byte_count>(bytes);
}

}  // namespace formulas
