// Waiting for other processes, but not for ever.
#pragma once

#include <ashlar/mpi/error.hpp>

#include <mpi.h>

#include <chrono>
#include <thread>

namespace tool {

// Whether all that the request waits for comes in time.
inline bool ends_within(MPI_Request& request, std::chrono::milliseconds deadline) {
  auto const end = std::chrono::steady_clock::now() + deadline;
  for (int over = 0;;) {
    ashlar::mpi::require(MPI_Test(&request, &over, MPI_STATUS_IGNORE));
    if (over != 0) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace tool
