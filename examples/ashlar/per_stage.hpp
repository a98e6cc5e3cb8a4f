// The file of --per-stage: a line a stage, `forward,backward_input,backward_weight` in ticks.
#pragma once

#include <ashlar/cost.hpp>

#include <string>
#include <vector>

namespace tool {

// Empty lines and lines that begin with # do not count. Throws usage_error with the line at fault.
std::vector<ashlar::stage_cost> read_per_stage(std::string const& path);

}  // namespace tool
