// The parts that a run recomputes.
#pragma once

#include "predict/report.hpp"

#include <string>

namespace tool {

// Reads parts with commas, by Megatron-LM's names or as `none`, `attention` and `full`; :N behind them
// means the first N layers of each stage. Also takes a file of JSON with "modules" and "layers": a
// number for each stage, or a list of the model's. Throws usage_error.
void choose_recomputation(std::string const& parts_or_file, prediction& p);

}  // namespace tool
