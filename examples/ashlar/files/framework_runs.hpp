// What PyTorch, torchtitan and Megatron-Core need to run a schedule: files and flags, or why they
// cannot.
#pragma once

#include <ashlar/schedule/schedule.hpp>

#include <string>

namespace tool {

// Several lines. `name`: of the schedule, as in "the file of NAME".
std::string framework_runs(ashlar::schedule const& s, std::string const& name);

}  // namespace tool
