// Times as they are given and shown: whole or decimal numbers, plain or with a unit. Inside they are
// ticks.
#pragma once

#include <ashlar/core/ticks.hpp>
#include <ashlar/interop/input_error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ashlar {

// 12.5ms: the digits 125, of which one is after the point.
struct duration {
  std::string given_by = {};  // for messages: an option, or a line of a file
  long long digits = 0;
  int decimals = 0;
  std::string unit = {};    // ns, us, ms or s; empty: none
  bool is_rounded = false;  // it was written with more decimals than are counted

  friend bool operator==(duration const&, duration const&) = default;
};

// So many ticks are one of a unit; without a name it is what plain numbers are of.
struct time_scale {
  long long ticks_per_unit = 1;
  std::string unit = {};

  // Ticks in the unit.
  double in_units(double ticks) const { return ticks / static_cast<double>(ticks_per_unit); }
  // "337.5"; and "337.5 ms" or "337.5 ticks".
  std::string number(tick t) const;
  std::string words(tick t) const;
  // How long a tick is; a microsecond for 1 of what has no unit.
  double tick_ns() const;
  bool is_plain() const { return ticks_per_unit == 1 && unit.empty(); }

  friend bool operator==(time_scale const&, time_scale const&) = default;
};

inline constexpr int most_decimals = 9;  // of a duration: what has more is rounded
// Says so of the first such time, as it is written.
std::string rounding_words(std::string_view time);

// Reads 3, 1.5, 1.4e-02 and 18.021643038418027ms. Throws input_error for what is no time, or as a plain
// whole number not from `least` to `most`.
duration read_duration(std::string const& given_by, std::string_view text, long long least,
                       long long most = max_tick);

// The unit of the first that has one, in ticks so short that all are whole numbers of them, and no
// shorter. Throws input_error where some have units and some (but 0) have none, and for times too fine
// to count.
time_scale scale_of(std::vector<duration> const& all);

// Throws input_error for what is no whole number of ticks, or more than can be counted.
tick ticks_of(duration const& d, time_scale const& scale);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/durations.ipp>
#endif
