// Low-rank adapters beside the frozen products of a model: W x + B A x (Hu et al. 2021, LoRA).
#pragma once

#include <ashlar/core/language.hpp>

namespace ashlar::cost {

// Matrices of a layer, each a bit. Fused ones are one product of several.
enum class adapted : unsigned short {
  none = 0,
  queries = 1,
  keys = 2,
  values = 4,
  result = 8,
  queries_keys_values = 16,  // fused
  gates = 32,                // of dense parts and of experts that all tokens take, like the next three
  up = 64,
  down = 128,
  gates_up = 256,  // fused
  // of compressed attention
  queries_down = 512,
  queries_up = 1024,
  keys_values_down = 2048,
  keys_values_up = 4096
};

// The union of both; and whether `part` is in `all`.
constexpr adapted operator|(adapted a, adapted b) {
  return static_cast<adapted>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(adapted all, adapted part) {
  return (static_cast<unsigned>(all) & static_cast<unsigned>(part)) != 0;
}

// Everything else of the model is frozen. Routers and routed experts have no adapters.
struct adapters {
  int rank = 0;  // 0: there are none
  adapted of = adapted::none;

  bool are_any() const { return rank > 0; }

  friend constexpr bool operator==(adapters, adapters) = default;
};

}  // namespace ashlar::cost
