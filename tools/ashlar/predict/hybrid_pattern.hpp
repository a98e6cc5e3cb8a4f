// The letters of layers whose mixers differ, where shares of the layers say them.
#pragma once

#include <cstddef>
#include <string>

namespace tool {

// As older Megatron-LM deals them (allocate_layers of mamba_hybrid_layer_allocation.py): attention (*)
// evenly, with state space (M) at both ends; then layers of a feed-forward part alone (-) among those of
// state space, evenly and as far behind as that allows. `attention` and `feed_forward` are shares of all
// layers, from 0 to 1 together.
std::string pattern_of_shares(std::size_t layers, double attention, double feed_forward);

}  // namespace tool
