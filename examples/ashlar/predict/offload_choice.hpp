// What a run is asked to send to its hosts.
#pragma once

#include <ashlar/predict/question.hpp>

#include <string>

namespace tool {

// Parts with commas, by Megatron-LM's names, or `full`; with :N behind them, of the first N layers of
// each stage. Throws usage_error.
void choose_offload(std::string const& parts, ashlar::predict::question& q);

}  // namespace tool
