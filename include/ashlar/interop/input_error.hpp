// The error for unusable input: the text of a file, or a value of an option.
#pragma once

#include <ashlar/core/language.hpp>

#include <stdexcept>

namespace ashlar {

// what() gives the place if known, the key, and the expected input.
struct input_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace ashlar
