// The argument of --lora.
#pragma once

#include "predict/report.hpp"

#include <string>

namespace tool {

// Puts adapters, RANK[,targets], beside the model's matrices and freezes everything else; an empty text
// changes nothing. Throws usage_error for targets that the model does not have.
void choose_lora(std::string const& text, prediction& p);

// The argument of --frozen-weights, after that of --lora: BITS[,WORDS], how frozen matrices are packed.
// Throws usage_error.
void choose_frozen_weights(std::string const& text, prediction& p);

}  // namespace tool
