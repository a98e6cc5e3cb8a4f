// The assumed behaviour of the training program, derived from the question alone.
#pragma once

#include <ashlar/cost/question/question.hpp>

namespace ashlar::cost {

// The behaviour of the training program.
struct stack {
  // FSDP of PyTorch or Megatron: data ranks shard the weights, or the gradients without a pipeline.
  bool is_sharded = false;
  // Megatron before the distributed optimizer (2021-22): unfused attention, 16-bit sums without overlap.
  bool is_classic = false;
  // A small PyTorch program: products of cuBLAS, FlashAttention 2, little else fused, exposed tensor
  // exchanges. Assumed if the model has Llama's first form (gated, dense, heads not grouped) and nothing
  // asks for Megatron-Core, on devices of its time.
  bool is_plain = false;
  // Megatron-Core with Transformer Engine: fused kernels, tensor exchanges beside products.
  bool is_tuned = false;
  // Scores are written to memory, and kept from the forward to the backward.
  bool writes_scores = false;
  // Gradients are sharded beside a pipeline: those of a virtual stage are whole only while they are
  // summed.
  bool sums_in_shards = false;
  // Each token of norms is on one tensor rank: always in Megatron-Core's recipes and beside FSDP, and in
  // older programs since full recomputation went out of use.
  bool splits_sequences = false;
  // Gathers and scatters of tensor ranks run beside products. Megatron-Core can do that only if
  // sequences are split (--tp-comm-overlap, megatron/training/arguments.py).
  bool hides_exchanges = false;
};

// Returns the behaviour assumed for this run.
stack stack_of(question const& q);

// Whether the machine is of Blackwell's family.
inline bool is_blackwell(machine const& m) {
  return m.like() == family::blackwell || m.like() == family::blackwell_ultra;
}

// Runs with similar errors; each kind on one node or on several.
enum class run_kind : unsigned char {
  sharded,
  classic,
  plain,
  experts,  // or state spaces
  dense_4_bits,
  dense_8_bits,
  dense_16_bits,
  dense_32_bits
};
inline constexpr int run_kind_count = 8;

// The kind of run, which decides the interval.
run_kind run_kind_of(question const& q);

}  // namespace ashlar::cost
