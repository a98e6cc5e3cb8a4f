// How training is laid out on devices that are all alike: its memory, and which layout to try first.
// Hagemann, Weinbach, Dobler, Schall, de Melo: Efficient Parallelization Layouts for Large-Scale
// Distributed Model Training (2023), whose recommendations these rules are.
#pragma once

#include <ashlar/model/memory_model.hpp>
#include <ashlar/plan/training/transformer.hpp>
#include <ashlar/plan/training/transformer_memory.hpp>

namespace ashlar {

// How many ranks of each kind there are, and what their devices keep. The number of devices is tensor ·
// pipeline · data.
struct training_layout {
  int micro_batch = 1;  // sequences
  int tensor = 1;
  int pipeline = 1;
  int data = 1;
  recomputation again = recomputation::none;
  bool sequence_parallel = false;
  bool flash_attention = true;  // scores are not kept
  bool fused_norm = true;       // nor what is made between a norm and its scale

  int devices_of_model() const { return tensor * pipeline; }

  friend constexpr bool operator==(training_layout const&, training_layout const&) = default;
};

// What their layers keep: 16-bit values, a gated feed-forward part, no dropout.
kept_widths widths_of(training_layout const& l);

// Bytes of the first stage, which holds most: the others are taken to be as large, with as many layers,
// rounded up. Weights and gradients of 16 bits; 12 bytes of optimizer state a parameter, shared by the
// data ranks. With full recomputation a layer's input is kept, and one layer is whole at a time. Without
// a pipeline the logits are there, too, at 6 bytes.
memory_model layout_memory(transformer const& t, training_layout const& l);

// Why one layout is to be tried before another.
enum class layout_reason : unsigned char {
  none,
  no_recomputation,     // to run forwards again costs more than it lets through
  smaller_micro_batch,  // less memory, hence less splitting, and a smaller bubble
  fused_kernels,
  fewer_devices_of_model,  // less to exchange, more data ranks
  less_tensor,        // of equal splits: messages between stages are smaller than those inside layers
  sequence_parallel,  // for large models or long sequences
};

// The first rule by which `a` comes before `b`; none if no rule says so.
layout_reason comes_before(training_layout const& a, training_layout const& b, bool long_or_large);

// From 30 billion parameters or 8192 tokens on.
inline bool is_long_or_large(transformer const& t) {
  return t.parameters() >= 30e9 || t.sequence >= 8192;
}

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/plan/training/layout.ipp>
#endif
