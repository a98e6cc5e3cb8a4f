// Times that are moved or stretched, within the range of ticks or not at all.
#pragma once

#include <ashlar/core/refuse.hpp>
#include <ashlar/core/ticks.hpp>

namespace ashlar {

// at + by. Throws violation{rule::ticks_fit} if one of the three is out of range.
constexpr tick shifted(tick at, tick by) {
  auto const fits = [](tick t) { return t > -max_tick && t < max_tick; };
  if (!fits(at) || !fits(by) || !fits(at + by))
    refuse({.broken = rule::ticks_fit, .number = fits(at) ? by : at});
  return at + by;
}

// t * factor. Throws violation: rule::counts_are_positive for a factor below 1, rule::ticks_fit.
constexpr tick stretched(tick t, tick factor) {
  if (factor < 1) refuse({.broken = rule::counts_are_positive, .number = factor});
  if (t > max_tick / factor || t < -(max_tick / factor))
    refuse({.broken = rule::ticks_fit, .number = t});
  return t * factor;
}

}  // namespace ashlar
