// The frame of a program that runs as processes: it starts and ends MPI, and takes all processes down
// when one fails.
#pragma once

#include <ashlar/core/language.hpp>

#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <exception>

namespace ashlar::mpi {

// Set when the launcher ends the job, as it does after a process has been killed: a process that waits
// in a step for one that does not answer then says so at once. If all answer, the step goes on; a
// program may look at this between two steps.
inline volatile std::sig_atomic_t termination_requested = 0;

// Serves as main() of each process: begins MPI with threads, calls body() and returns its result. An
// exception is written to standard error with the process's number, and then all processes are ended.
// The first SIGTERM sets termination_requested, another one ends the process.
template <class Body>
int launch(int argc, char** argv, Body body) {
  int level = 0, me = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  std::signal(SIGTERM, [](int) {
    termination_requested = 1;
    std::signal(SIGTERM, SIG_DFL);
  });
  try {
    int const result = body();
    MPI_Finalize();
    return result;
  } catch (std::exception const& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "process %d: %s\n", me, e.what());
    std::fflush(stderr);
  }
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}

}  // namespace ashlar::mpi
