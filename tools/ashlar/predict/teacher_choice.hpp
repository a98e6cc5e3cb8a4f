// The teacher of `ashlar predict --teacher`.
#pragma once

#include "predict/report.hpp"

#include <string>

namespace tool {

// Reads a model as --model has it, or a configuration itself, as JSON; empty: none. Throws usage_error.
void choose_teacher(std::string const& text, prediction& p);

}  // namespace tool
