// State and activations that a run offloads to the memory of the host.
#pragma once

#include <ashlar/cost/layout/recomputation.hpp>

namespace ashlar::cost {

// Parts of what a layer keeps, each a bit, with Megatron-Core's names. They are copied to the host after
// the forward, and back before the backward.
enum class offloaded : unsigned char {
  none = 0,
  attention_norm = 1,    // attn_norm: the input of the norm before attention
  norm_result = 2,       // qkv_linear: the result of that norm
  attention = 4,         // core_attn: queries, keys, values
  attention_result = 8,  // attn_proj
  feed_norm = 16,        // mlp_norm: the input of the norm before the feed-forward part
  expert_input = 32,     // expert_fc1: the tokens of each expert
  activation = 64,       // moe_act: the input of the experts' activation
  all = 128              // everything that the layer keeps
};

// The union of both; and whether `part` is in `all`.
constexpr offloaded operator|(offloaded a, offloaded b) {
  return static_cast<offloaded>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(offloaded all, offloaded part) {
  return (static_cast<unsigned>(all) & static_cast<unsigned>(part)) != 0;
}

// Weights of a fully sharded model whose shards stay on the host; each gather copies a rank's shard to
// its device first.
enum class offloaded_weights : unsigned char {
  none,
  copies,  // in 16 bits, beside the optimizer's own: ZeRO-3's offload_param
  own      // the optimizer's, with all that it holds, and gradients: FSDP's CPU offload
};

// The state and activations that a run offloads to its hosts.
struct offloading {
  offloaded parts = offloaded::none;
  chosen_layers in = {};   // layers whose parts leave
  bool optimizer = false;  // its state and the 32-bit weights stay there, and are updated there

  offloaded_weights weights = offloaded_weights::none;

  // Whether anything leaves.
  bool is_any() const {
    return parts != offloaded::none || optimizer || weights != offloaded_weights::none;
  }

  friend bool operator==(offloading const&, offloading const&) = default;
};

}  // namespace ashlar::cost
