// Failures between the devices of a run, for all backends.
#pragma once

#include <ashlar/core/language.hpp>

#include <stdexcept>

namespace ashlar {

// The processes have not been started with the same program, version and model shape. The message has
// both sides.
class refused : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// Nothing has moved for the deadline, or others have failed: a program waits for something that never
// comes. The message gives the positions of the devices and, if the backend knows, the devices they wait
// for.
class stalled : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace ashlar
