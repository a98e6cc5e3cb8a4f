// The meaning of Megatron-LM's arguments that say no size, for a prediction.
#pragma once

#include <string>
#include <string_view>

namespace tool {

// Whether it changes neither the model nor the time of a step: names of files, rates, logs, and choices
// among kernels that are alike. Names have underscores.
bool says_nothing_to_predict(std::string_view name);

// Why a run with it is not predicted: it makes another model, or needs a formula that is not here.
// Empty: it is none of these.
std::string why_not_predicted(std::string_view name);

}  // namespace tool
