// The model that arguments of Megatron-LM make.
#pragma once

#include "predict/megatron_command.hpp"
#include "predict/models.hpp"

#include <string>

namespace tool {

// `sequence`: tokens, as many positions as are learned where nothing else is said. Throws usage_error.
described_model megatron_description(megatron_command& a, std::string const& path, long long sequence);

// Passes over the model's sizes, which are given elsewhere.
void ignore_description(megatron_command& a);

}  // namespace tool
