// Times as users write and read them: whole or decimal numbers, plain or with a unit. Internally they
// are ticks.
#pragma once

#include <ashlar/core/ticks.hpp>
#include <ashlar/interop/input_error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ashlar {

// A duration as written. 12.5ms has the digits 125, one of them after the point.
struct duration {
  std::string given_by = {};  // for messages: an option, or a line of a file
  long long digits = 0;
  int decimals = 0;
  std::string unit = {};    // ns, us, ms or s; empty: none
  bool is_rounded = false;  // it was written with more than most_decimals decimals

  friend bool operator==(duration const&, duration const&) = default;
};

// Ticks per unit, with the unit's name; without a name it is the unit of plain numbers.
struct time_scale {
  long long ticks_per_unit = 1;
  std::string unit = {};

  // Ticks in the unit.
  double in_units(double ticks) const { return ticks / static_cast<double>(ticks_per_unit); }
  // The number, as in "337.5"; or number and unit, as in "337.5 ms" or "337.5 ticks".
  std::string number(tick t) const;
  std::string words(tick t) const;
  // Nanoseconds of a tick. Plain numbers count as microseconds.
  double tick_ns() const;
  bool is_plain() const { return ticks_per_unit == 1 && unit.empty(); }

  friend bool operator==(time_scale const&, time_scale const&) = default;
};

inline constexpr int most_decimals = 9;  // of a duration; further ones are rounded
// Describes the rounding of the first such time, as written.
std::string rounding_words(std::string_view time);

// Reads 3, 1.5, 1.4e-02 and 18.021643038418027ms. Throws input_error if the text is not a time, or a
// plain whole number not from `least` to `most`.
duration read_duration(std::string const& given_by, std::string_view text, long long least,
                       long long most = max_tick);

// The unit of the first time that has one, with the fewest ticks per unit that make all times whole.
// Throws input_error if some times have units and others (except 0) have none, and for times too fine to
// count.
time_scale scale_of(std::vector<duration> const& all);

// Ticks of a duration. Throws input_error if they are not whole, or too many to count.
tick ticks_of(duration const& d, time_scale const& scale);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/durations.ipp>
#endif
