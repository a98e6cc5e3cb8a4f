// Files and flags that PyTorch, torchtitan and Megatron-Core need to run a schedule, or why they cannot.
#pragma once

#include <ashlar/schedule/schedule.hpp>

#include <string>

namespace tool {

// Returns several lines. `name`: of the schedule, as in "the file of NAME".
std::string framework_runs(ashlar::schedule const& s, std::string const& name);

}  // namespace tool
