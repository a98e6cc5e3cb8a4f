// What cannot be used of what was given from outside: the text of a file, a value of an option.
#pragma once

#include <stdexcept>

namespace ashlar {

// what() says where it stands, as far as that is known, by which key, and what must be there.
struct input_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace ashlar
