// Numbers in texts from outside, each with the range that it must lie in.
#pragma once

#include <ashlar/interop/input_error.hpp>

#include <bit>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace ashlar {

// Reads a text that is exactly one finite number; false for any other, and on overflow.
template <class Number>
bool read_number(std::string_view text, Number& value) {
  char const* const last = text.data() + text.size();
  auto const [end, error] = std::from_chars(text.data(), last, value);
  return error == std::errc{} && end == last && value - value == Number{};
}

// The shortest digits that identify the value; 1e+18, but 100000.
std::string number_words(double value);

// "from 1 to 1024"; or "at least 1 and below 2^61" if the type alone sets the limit.
template <class Number>
std::string range_words(Number least, Number most) {
  if constexpr (std::is_integral_v<Number>) {
    if (constexpr Number large = std::numeric_limits<Number>::max() / 8; most > large)
      return "at least " + std::to_string(least) + " and below 2^"
             + std::to_string(std::bit_width(static_cast<std::make_unsigned_t<Number>>(most)));
    return "from " + std::to_string(least) + " to " + std::to_string(most);
  } else {
    return "from " + number_words(least) + " to " + number_words(most);
  }
}

// Reads a number within a range. `given_by` is for the message: an option, or a line of a file. Throws
// input_error.
template <class Number>
Number number_within(std::string const& given_by, std::string_view text,
                     std::type_identity_t<Number> least, std::type_identity_t<Number> most) {
  Number value{};
  if (read_number(text, value) && value >= least && value <= most) return value;
  throw input_error(given_by + " must be " + (std::is_integral_v<Number> ? "" : "a number ")
                    + range_words<Number>(least, most) + ", not "
                    + (text.empty() ? "''" : std::string(text.substr(0, 64))));
}

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/numbers.ipp>
#endif
