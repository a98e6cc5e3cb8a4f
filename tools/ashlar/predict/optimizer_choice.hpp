// The argument of --optimizer.
#pragma once

#include "predict/report.hpp"

#include <string>

namespace tool {

// Sets how parameters are updated, KIND[,WORDS]; an empty text changes nothing. The run has its other
// options. Throws usage_error for what the optimizer cannot do, or nothing counts.
void choose_optimizer(std::string const& text, prediction& p);

}  // namespace tool
