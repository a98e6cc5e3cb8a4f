// Errors of a step besides those of the worker.
#pragma once

#include <ashlar/program/names.hpp>
#include <ashlar/run/failures.hpp>
#include <ashlar/run/frame.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace ashlar::host {

// Two devices disagree about what the next message between them is: their programs do not belong
// together.
class mismatched_transfer : public std::runtime_error {
 public:
  mismatched_transfer(int source, int target, message sent, std::size_t sent_bytes, message expected,
                      std::size_t expected_bytes)
      : std::runtime_error("mismatched transfer: device " + std::to_string(source) + " sent "
                           + describe(sent, sent_bytes) + ", device " + std::to_string(target)
                           + " was to receive " + describe(expected, expected_bytes)) {}

 private:
  static std::string describe(message const& m, std::size_t bytes) {
    return to_string(m.what) + " for stage " + std::to_string(m.to) + " (" + std::to_string(bytes)
           + " bytes)";
  }
};

using ashlar::stalled;

}  // namespace ashlar::host
