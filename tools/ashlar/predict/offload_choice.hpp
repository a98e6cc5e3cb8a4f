// The parts that a run sends to its hosts.
#pragma once

#include <ashlar/cost/question/question.hpp>

#include <string>

namespace tool {

// Reads parts with commas, by Megatron-LM's names, or `full`; :N behind them means the first N layers of
// each stage. Throws usage_error.
void choose_offload(std::string const& parts, ashlar::cost::question& q);

}  // namespace tool
