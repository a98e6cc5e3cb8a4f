// Checks that all processes have the same version, program and layouts.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/mpi/error.hpp>
#include <ashlar/run/identity.hpp>

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace ashlar::mpi {

namespace identity_detail {

inline constexpr int tag = 16723;
using clock = std::chrono::steady_clock;

// Waits until all have ended or it is too late; says whether they have ended.
inline bool wait_all(std::vector<MPI_Request>& all, clock::time_point end) {
  for (;;) {
    int done = 1;
    for (MPI_Request& r : all)  // each by itself: MPI_Testall frees all or none
      if (int one = 0; r != MPI_REQUEST_NULL) {
        require(MPI_Test(&r, &one, MPI_STATUS_IGNORE));
        done &= one;
      }
    if (done != 0) return true;
    if (clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

inline void give_up(std::vector<MPI_Request>& all) {
  for (MPI_Request& r : all)
    if (r != MPI_REQUEST_NULL) {
      MPI_Cancel(&r);
      MPI_Request_free(&r);
    }
}

// The verdict of process 0; empty if all is well.
using verdict = std::array<char, 640>;

inline std::string judge(std::vector<identity> const& all, std::vector<MPI_Request> const& open,
                         std::chrono::milliseconds deadline) {
  std::string missing;
  for (std::size_t i = 1; i < all.size(); ++i)
    if (open[i] != MPI_REQUEST_NULL) missing += (missing.empty() ? " " : ", ") + std::to_string(i);
  if (!missing.empty())
    return "no program came from process" + missing + " within " + std::to_string(deadline.count())
           + " ms";
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i] != all[0])
      return "the processes do not run the same: process 0 has " + to_string(all[0]) + "; process "
             + std::to_string(i) + " has " + to_string(all[i]);
  return {};
}

inline verdict ask_all(MPI_Comm comm, int size, identity const& mine,
                       std::chrono::milliseconds deadline) {
  std::vector<identity> all(static_cast<std::size_t>(size), mine);
  std::vector<MPI_Request> open(all.size(), MPI_REQUEST_NULL);
  for (int i = 1; i < size; ++i)
    require(MPI_Irecv(&nth(all, i), sizeof(identity), MPI_BYTE, i, tag, comm, &nth(open, i)));
  wait_all(open, clock::now() + deadline);
  std::string const text = judge(all, open, deadline);
  give_up(open);
  verdict v{};
  std::copy_n(text.begin(), std::min(text.size(), v.size() - 1), v.begin());
  for (int i = 1; i < size; ++i)
    require(MPI_Isend(v.data(), static_cast<int>(v.size()), MPI_BYTE, i, tag, comm, &nth(open, i)));
  wait_all(open, clock::now() + std::chrono::seconds(1));
  give_up(open);
  return v;
}

}  // namespace identity_detail

// All processes call it. Throws refused, naming both sides, unless all are the same, and stalled when
// a process does not come within the deadline. Uses a tag of `comm` while it lasts.
inline void require_same(MPI_Comm comm, identity const& mine, std::chrono::milliseconds deadline) {
  using namespace identity_detail;
  int me = 0, size = 0;
  require(MPI_Comm_rank(comm, &me));
  require(MPI_Comm_size(comm, &size));
  verdict v{};
  if (me == 0) {
    v = ask_all(comm, size, mine, deadline);
  } else {
    std::vector<MPI_Request> open(2, MPI_REQUEST_NULL);
    require(MPI_Isend(&mine, sizeof mine, MPI_BYTE, 0, tag, comm, &open[0]));
    require(MPI_Irecv(v.data(), static_cast<int>(v.size()), MPI_BYTE, 0, tag, comm, &open[1]));
    // Process 0 may use the whole deadline to wait for others.
    if (!wait_all(open, clock::now() + 2 * deadline + std::chrono::seconds(1))) {
      give_up(open);
      throw stalled("process 0 has not compared programs within "
                    + std::to_string(2 * deadline.count() + 1000) + " ms");
    }
  }
  std::string const text = v.data();
  if (text.starts_with("no program")) throw stalled(text);
  if (!text.empty()) throw refused(text);
}

}  // namespace ashlar::mpi
