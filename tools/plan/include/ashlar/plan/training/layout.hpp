// A layout of training on identical devices: its memory, and the order in which to try layouts.
// Hagemann, Weinbach, Dobler, Schall, de Melo: Efficient Parallelization Layouts for Large-Scale
// Distributed Model Training (2023), whose recommendations these rules are.
#pragma once

#include <ashlar/model/memory_model.hpp>
#include <ashlar/plan/training/transformer.hpp>
#include <ashlar/plan/training/transformer_memory.hpp>

namespace ashlar {

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
kept_widths widths_of(training_layout const& l);

// Bytes of the first stage, the largest. The others are assumed to be as large, with as many layers,
// rounded up. Weights and gradients have 16 bits; optimizer state is 12 bytes per parameter, sharded
// over the data ranks. With full recomputation a layer's input is kept, and one layer is materialized at
// a time. Without a pipeline the logits count, too, at 6 bytes.
memory_model layout_memory(transformer const& t, training_layout const& l);

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
layout_reason comes_before(training_layout const& a, training_layout const& b, bool long_or_large);

// True from 30 billion parameters or 8192 tokens on.
inline bool is_long_or_large(transformer const& t) {
  return t.parameters() >= 30e9 || t.sequence >= 8192;
}

}  // namespace ashlar
