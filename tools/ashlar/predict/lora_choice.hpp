// The argument of --lora.
#pragma once

#include "predict/report.hpp"

#include <string>

namespace tool {

// Puts adapters, RANK[,targets], beside the model's matrices and freezes everything else; an empty text
// changes nothing. Throws usage_error for targets that the model does not have.
void choose_lora(std::string const& text, prediction& p);

}  // namespace tool
