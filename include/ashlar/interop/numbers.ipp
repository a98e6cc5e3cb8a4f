// Definitions of numbers.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/numbers.hpp>

namespace ashlar {

ASHLAR_INLINE std::string number_words(double value) {
  constexpr double smallest = 1e-4, largest = 1e16;  // range written without an exponent
  double const size = value < 0 ? -value : value;
  bool const is_plain = size == 0 || (size >= smallest && size < largest);
  char text[32] = {};
  char* const end = std::to_chars(text, text + sizeof text, value,
                                  is_plain ? std::chars_format::fixed : std::chars_format::scientific)
                        .ptr;
  return {text, end};
}

}  // namespace ashlar
