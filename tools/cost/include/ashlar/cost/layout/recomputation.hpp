// The parts that a backward recomputes, and the layers in which it does.
#pragma once

#include <ashlar/core/language.hpp>

#include <cstddef>
#include <vector>

namespace ashlar::cost {

// Parts of a layer, each a bit, with Megatron-LM's names. Their activations are recomputed from their
// inputs.
enum class recomputation : unsigned short {
  none = 0,
  attention = 1,       // core_attn: scores and their use
  up_projections = 2,  // mla_up_proj: of compressed attention, with rotations
  norms = 4,           // layernorm
  activation = 8,      // moe_act: of routed experts
  dense = 16,          // mlp
  experts = 32,        // moe: router, exchanges, routed and shared experts
  shared_expert = 64,  // shared_experts
  full = 128,          // the layer
  operators = 256      // all but every other product, and scores: torchtitan's selective "op"
};

// The union of both; and whether `part` is in `all`.
constexpr recomputation operator|(recomputation a, recomputation b) {
  return static_cast<recomputation>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(recomputation all, recomputation part) {
  return (static_cast<unsigned>(all) & static_cast<unsigned>(part)) != 0;
}

// Some layers of a model.
struct chosen_layers {
  static constexpr int all = -1;

  int first = all;          // this many of each stage, from its first on
  std::vector<bool> these;  // or these of the model; empty: see `first`

  bool are_all() const { return first == all && these.empty(); }

  // Whether this layer of the model is chosen, in a stage that begins with `first_of_stage`.
  bool have(int layer, int first_of_stage) const {
    if (these.empty()) return first == all || layer - first_of_stage < first;
    auto const number = static_cast<std::size_t>(layer);
    return number < these.size() && these[number];
  }

  friend bool operator==(chosen_layers const&, chosen_layers const&) = default;
};

}  // namespace ashlar::cost
