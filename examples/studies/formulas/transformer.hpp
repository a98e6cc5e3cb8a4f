// A decoder of transformer layers: its parameters, and the arithmetic of a step.
#pragma once

#include "transformer_memory.hpp"

namespace formulas {

// The sizes of a decoder with identical layers.
struct transformer {
  int layers = 1;
  double hidden = 1;
  double feed_forward = 4;
  double heads = 1;
  double key_value_heads = 0;  // 0: as many as heads
  double vocabulary = 0;
  double sequence = 1;  // tokens
  bool gated = false;   // a third matrix in the feed-forward part
  bool tied = false;    // the head has the embedding's weights
  double experts = 0;   // of the feed-forward part, each of this size; 0: one part without experts
  double experts_per_token = 1;
  double value_bytes = 2;  // of weights, activations and messages

  // Parameters of queries, keys, values and output together.
  double attention_parameters() const {
    double const shared = key_value_heads > 0 && heads > 0 ? key_value_heads / heads : 1;
    return hidden * hidden * (2 + 2 * shared);
  }
  double expert_parameters() const { return (gated ? 3 : 2) * hidden * feed_forward; }
  // Includes the router, which has a row for each expert.
  double layer_parameters() const {
    if (!(experts > 0)) return attention_parameters() + expert_parameters();
    return attention_parameters() + experts * (expert_parameters() + hidden);
  }
  // Parameters that a token meets.
  double active_layer_parameters() const {
    if (!(experts > 0)) return layer_parameters();
    return attention_parameters() + experts_per_token * expert_parameters() + experts * hidden;
  }
  double active_feed_forward() const {
    return experts > 0 ? experts_per_token * feed_forward : feed_forward;
  }
  double embedding_parameters() const { return hidden * vocabulary; }
  double parameters() const {
    return layers * layer_parameters() + (tied ? 1 : 2) * embedding_parameters();
  }
  double active_parameters() const {
    return parameters() - layers * (layer_parameters() - active_layer_parameters());
  }

  friend constexpr bool operator==(transformer const&, transformer const&) = default;
};

// Floating-point operations of the model's own arithmetic in a step over this many sequences, without
// recomputation: batch x sequence x (6 parameters that a token meets + 12 layers x hidden x sequence).
// (Chowdhery et al., PaLM, 2022, appendix B.)
inline double model_flops(transformer const& t, double batch) {
  return batch * t.sequence * (6 * t.active_parameters() + 12 * t.layers * t.hidden * t.sequence);
}

// The share of the devices' peak that goes into the model's own arithmetic.
inline double model_utilisation(double flops, double seconds, int device_count, double peak_flops) {
  return flops / (seconds * device_count * peak_flops);
}

}  // namespace formulas
