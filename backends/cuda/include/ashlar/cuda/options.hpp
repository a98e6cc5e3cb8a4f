// How a program is run on GPUs, and what can go wrong besides the worker and the calls.
#pragma once

#include <ashlar/run/frame.hpp>

#include <chrono>
#include <stdexcept>
#include <vector>

namespace ashlar::cuda {

// The processes have not been started with the same program, version and model shape.
class refused : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// Nothing has moved for the deadline, or NCCL reports that others have failed. The message says how far
// this process's devices have come.
class stalled : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// How steps are put on the streams.
enum class issue_mode : unsigned char {
  replay,  // the first is issued, the second captured in a graph, which runs from then on
  eager,   // each is issued
};

struct run_options {
  issue_mode mode = issue_mode::replay;
  bool record = false;  // keep the times of all instructions; needs issue_mode::eager
  numerics sums = numerics::ordered;
  std::vector<int> gpus = {};  // of the devices, rank after rank, from the first again if there are more
                               // devices; none: all that there are. Of a process group: what it says
  std::chrono::milliseconds deadline{30000};  // for something to move
};

}  // namespace ashlar::cuda
