// What can go wrong between processes, besides the worker.
#pragma once

#include <mpi.h>

#include <array>
#include <stdexcept>
#include <string>

namespace ashlar::mpi {

// The processes have not been started with the same program, version and model shape.
class refused : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// Nothing has moved for the deadline, or the launcher ends the job. The message names the process and
// the instruction waited for, and says what all others do.
class stalled : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Another process has failed and said why.
class peer_failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// MPI itself reports an error.
class call_failed : public std::runtime_error {
 public:
  explicit call_failed(int code) : std::runtime_error(text_of(code)) {}

 private:
  static std::string text_of(int code) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    return "MPI: " + std::string(text.data(), static_cast<std::size_t>(length));
  }
};

inline void require(int code) {
  if (code != MPI_SUCCESS) throw call_failed(code);
}

}  // namespace ashlar::mpi
