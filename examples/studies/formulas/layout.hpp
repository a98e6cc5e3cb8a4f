// A layout of training on identical devices: its memory, and the order in which to try layouts.
// Hagemann, Weinbach, Dobler, Schall, de Melo: Efficient Parallelization Layouts for Large-Scale
// Distributed Model Training (2023), whose recommendations these rules are.
#pragma once

#include "quantities.hpp"
#include "transformer.hpp"
#include "transformer_memory.hpp"
#include <ashlar/core/cost.hpp>
#include <ashlar/model/memory_model.hpp>

namespace formulas {

using namespace ashlar;

// The number of ranks of each kind, and what their devices keep. There are tensor · pipeline · data
// devices.
struct training_layout {
  int micro_batch = 1;  // sequences
  int tensor = 1;
  int pipeline = 1;
  int data = 1;
  recomputation again = recomputation::none;
  bool sequence_parallel = false;
  bool flash_attention = true;  // scores are not kept
  bool fused_norm = true;       // values between a norm and its scale are not kept

  int devices_of_model() const { return tensor * pipeline; }

  friend constexpr bool operator==(training_layout const&, training_layout const&) = default;
};

// Bytes that the layers keep: 16-bit values, a gated feed-forward part, no dropout.
inline kept_widths widths_of(training_layout const& l) {
  return {.whole = l.fused_norm ? 8.0 : 24.0,
          .split = 8,
          .feed_forward = 8,
          .scores = l.flash_attention ? 0.0 : 5.0};
}

// Bytes of the first stage, the largest. The others are assumed to be as large, with as many layers,
// rounded up. Weights and gradients have 16 bits; optimizer state is 12 bytes per parameter, sharded
// over the data ranks. With full recomputation a layer's input is kept, and one layer is materialized at
// a time. Without a pipeline the logits count, too, at 6 bytes.
inline memory_model layout_memory(transformer const& t, training_layout const& l) {
  int const layers = (t.layers + l.pipeline - 1) / l.pipeline;
  double const head = l.pipeline == 1 ? 2 : 1;
  double const parameters = (layers * t.layer_parameters() + head * t.embedding_parameters()) / l.tensor;
  split_layer const layer{t.hidden, t.feed_forward, t.heads, t.sequence, l.tensor, l.sequence_parallel};
  double const whole = kept_bytes(layer, l.micro_batch, recomputation::none, widths_of(l));
  double const kept = layers * kept_bytes(layer, l.micro_batch, l.again, widths_of(l));
  double const logits = l.pipeline == 1 ? 6 * t.vocabulary * l.micro_batch * t.sequence / l.tensor : 0;
  stage_memory m;
  m.weights = whole_bytes(2 * parameters + logits);
  m.weight_gradient = whole_bytes(2 * parameters);
  m.optimizer_state = whole_bytes(12 * parameters / l.data);
  m.stash = whole_bytes(kept);
  if (l.again == recomputation::full) m.weights += whole_bytes(whole);
  memory_model made;
  made.stages[0] = m;
  return made;
}

// The reason to try one layout before another.
enum class layout_reason : unsigned char {
  none,
  no_recomputation,     // running forwards again costs more than it gains
  smaller_micro_batch,  // less memory, hence less splitting, and a smaller bubble
  fused_kernels,
  fewer_devices_of_model,  // less exchange, more data ranks
  less_tensor,        // at equal splits: messages between stages are smaller than those inside layers
  sequence_parallel,  // for large models or long sequences
};

// The first rule that puts `a` before `b`; none if no rule does.
inline layout_reason comes_before(training_layout const& a, training_layout const& b,
                                  bool long_or_large) {
  if (a.again != b.again)
    return a.again < b.again ? layout_reason::no_recomputation : layout_reason::none;
  if (a.micro_batch != b.micro_batch)
    return a.micro_batch < b.micro_batch ? layout_reason::smaller_micro_batch : layout_reason::none;
  int const fused_a = a.flash_attention + a.fused_norm, fused_b = b.flash_attention + b.fused_norm;
  if (fused_a != fused_b) return fused_a > fused_b ? layout_reason::fused_kernels : layout_reason::none;
  if (a.sequence_parallel != b.sequence_parallel)
    return a.sequence_parallel == long_or_large ? layout_reason::sequence_parallel : layout_reason::none;
  if (a.devices_of_model() != b.devices_of_model())
    return a.devices_of_model() < b.devices_of_model() ? layout_reason::fewer_devices_of_model
                                                       : layout_reason::none;
  return a.tensor < b.tensor ? layout_reason::less_tensor : layout_reason::none;
}

// True from 30 billion parameters or 8192 tokens on.
inline bool is_long_or_large(transformer const& t) {
  return t.parameters() >= 30e9 || t.sequence >= 8192;
}

}  // namespace formulas
