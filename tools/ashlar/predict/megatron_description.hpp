// The model that arguments of Megatron-LM make.
#pragma once

#include "predict/megatron_command.hpp"
#include "predict/models.hpp"

#include <string>

namespace tool {

// `sequence`: tokens, as many positions as are learned where nothing else is said. `encoder_tokens`: of
// an encoder beside the decoder; 0: there is none. Throws usage_error.
described_model megatron_description(megatron_command& a, std::string const& path, long long sequence,
                                     long long encoder_tokens);

// Passes over the model's sizes, which are given elsewhere.
void ignore_description(megatron_command& a);

}  // namespace tool
