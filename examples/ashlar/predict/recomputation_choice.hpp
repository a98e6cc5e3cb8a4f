// What a run is asked to run again.
#pragma once

#include "predict/report.hpp"

#include <string>

namespace tool {

// Parts with commas, by Megatron-LM's names or as `none`, `attention` and `full`; with :N behind them,
// in the first N layers of each stage. Or a file of JSON with "modules" and "layers": so many of each
// stage, or a list of the model's. Throws usage_error.
void choose_recomputation(std::string const& parts_or_file, prediction& p);

}  // namespace tool
