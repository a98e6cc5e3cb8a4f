// Watches over a process that a launcher has started: its launcher may die, and the others may never
// come.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace tool {

// Whether mpirun, srun or the like has started this process.
bool is_launched();

// Ends the process with `failed` and a sentence on standard error if MPI has not started within the
// deadline. After that, it does so when the launcher dies: launchers take their processes along, but
// some only after seconds in which another job of the same training has begun.
class launch_watch {
 public:
  explicit launch_watch(std::chrono::milliseconds deadline);
  launch_watch(launch_watch const&) = delete;
  launch_watch& operator=(launch_watch const&) = delete;

  void mpi_has_started() { started_ = true; }

 private:
  std::atomic<bool> started_ = false;
  std::jthread thread_;
};

}  // namespace tool
