// The layers that Megatron-LM gives to each virtual stage.
#pragma once

#include "predict/megatron_command.hpp"

#include <string>

namespace tool {

struct megatron_stages {
  std::string layout;  // as --layout takes it; empty: the same to each
  long long chunks = 1;
};

// `chunks`: given beside the file; 0: the file says it. Throws usage_error where Megatron-LM stops
// (validate_args of megatron/training/arguments.py, get_num_layers_to_build of transformer_block.py).
megatron_stages stages_of_megatron(megatron_command& a, long long layers, long long pipeline,
                                   long long chunks);

// Passes over the stages, which are given elsewhere.
void ignore_stages(megatron_command& a);

}  // namespace tool
