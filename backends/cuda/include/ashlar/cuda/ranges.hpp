// Names of instructions for profilers.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/run/device_plan.hpp>

#include <nvtx3/nvToolsExt.h>

#include <cstddef>
#include <string>
#include <vector>

namespace ashlar::cuda {

// An NVTX range for each instruction while it is issued: profilers show it above the kernels that it
// starts. Without a profiler it costs a few nanoseconds.
class instruction_ranges {
 public:
  explicit instruction_ranges(device_plan const& plan, int number) {
    for (int i = 0; i < plan.size(); ++i)
      names_.push_back(std::to_string(number) + ": " + to_string(plan.at(i).what));
  }

  class scope {
   public:
    scope(instruction_ranges const& of, int index) { nvtxRangePushA(nth(of.names_, index).c_str()); }
    scope(scope const&) = delete;
    scope& operator=(scope const&) = delete;
    ~scope() { nvtxRangePop(); }
  };

 private:
  std::vector<std::string> names_;
};

}  // namespace ashlar::cuda
