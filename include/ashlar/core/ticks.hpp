// Time: an integer count of ticks, exact in constant expressions. A tick is the unit of the costs (unit
// passes, nanoseconds).
#pragma once

#include <ashlar/core/language.hpp>

#include <cstdint>

namespace ashlar {

using tick = std::int64_t;

// The largest time that may occur. A quarter of the type's range, so that a sum of two times cannot
// overflow.
inline constexpr tick max_tick = INT64_MAX / 4;

// a * b for a, b >= 0, or max_tick where the product would pass it.
constexpr tick saturating_product(tick a, tick b) {
  return b != 0 && a > max_tick / b ? max_tick : a * b;
}

// a + b for a >= 0 and b > -max_tick, or max_tick where the sum would pass it.
constexpr tick saturating_sum(tick a, tick b) { return a > max_tick - b ? max_tick : a + b; }

// Quotient and remainder rounded towards minus infinity, for b > 0: a == floor_quotient * b +
// floor_remainder.
constexpr tick floor_quotient(tick a, tick b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
constexpr tick floor_remainder(tick a, tick b) { return a - floor_quotient(a, b) * b; }

}  // namespace ashlar
