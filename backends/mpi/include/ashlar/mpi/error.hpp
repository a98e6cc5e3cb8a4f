// Errors between processes, besides those of the worker.
#pragma once

#include <ashlar/run/failures.hpp>

#include <mpi.h>

#include <array>
#include <stdexcept>
#include <string>

namespace ashlar::mpi {

using ashlar::refused;
using ashlar::stalled;  // also when the launcher ends the job

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
