// Options of running a program on GPUs, and errors besides those of the worker and the calls.
#pragma once

#include <ashlar/run/failures.hpp>
#include <ashlar/run/frame.hpp>

#include <chrono>
#include <vector>

namespace ashlar::cuda {

using ashlar::refused;
using ashlar::stalled;

// How steps are put on the streams.
enum class issue_mode : unsigned char {
  replay,  // the first is issued, the second captured in a graph, which runs from then on
  eager,   // each is issued
};

struct run_options {
  issue_mode mode = issue_mode::replay;
  bool record = false;  // keep the times of all instructions, each between two events
  numerics sums = numerics::ordered;
  std::vector<int> gpus =
      {};  // of the devices, rank after rank, from the first again if there are more
           // devices; none: all available ones. In a process group: those of the group
  std::chrono::milliseconds deadline{30000};  // for something to move
};

}  // namespace ashlar::cuda
