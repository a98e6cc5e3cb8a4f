// The behaviour of a training program: what it fuses, overlaps and keeps.
#pragma once

#include <ashlar/cost/cluster/machine.hpp>
#include <ashlar/cost/question/facts.hpp>

namespace ashlar::cost {

// The training program. `automatic`: the first in the table of traits that the run has.
enum class program_kind : unsigned char {
  automatic,
  recipe,     // Megatron-Core in the recipes of NeMo and Megatron-Bridge
  tuned,      // Megatron-Core with Transformer Engine, with Megatron-LM's own defaults
  plain,      // a small PyTorch program
  classic,    // Megatron before the distributed optimizer (2021-22)
  sharded,    // FSDP of PyTorch or Megatron, with a fused loss
  torchtitan  // not compiled
};
inline constexpr std::size_t program_count = 7;

// The kernel that computes attention. `unfused` writes its scores to memory. `fused` is the program's
// usual kernel. `sdpa` is the choice of PyTorch's scaled_dot_product_attention, cuDNN on Hopper and
// Blackwell since it prefers that (sdp_utils.cpp, with cuDNN after 9.15). `automatic`: as the program
// does.
enum class attention_kernel : unsigned char { automatic, fused, unfused, flash_2, flash_3, cudnn, sdpa };

// Whether each token of norms is on one tensor rank alone: Megatron-LM's --sequence-parallel.
// `automatic`: as the program does.
enum class sequence_split : unsigned char { automatic, on, off };

// A run's statements about its program; the rest follows from them.
struct training_program {
  program_kind kind = program_kind::automatic;
  given_facts facts;
  number_format format = number_format::bf16;
  attention_kernel attention = attention_kernel::automatic;
  sequence_split sequence_parallel = sequence_split::automatic;
  bool dispatches_8_bits = false;  // tokens go to experts in 8 bits, and come back in 16
  // Within pairs, exchanges do not wait for gradients of weights: Megatron-Core's delay_wgrad_compute.
  bool delays_weights = false;
  // Copies of shards are summed once a step, as in MiCS; else after each backward, as in PyTorch's HSDP.
  bool sums_copies_once = false;
  // Gradients are scattered to the shards of a fully sharded model once a step, from sums that each rank
  // holds whole: FSDP within no_sync, as the Trainer of transformers runs it. Else after each backward.
  bool scatters_once = false;
  // Those sums are in 32 bits, as FSDP2 of PyTorch has them where it reduces in 32 bits.
  bool sums_in_32_bits = false;
  // Forwards without gradients beside each, as of the reference of preferences; and whether a frozen
  // copy of the weights is held for them.
  int frozen_forwards = 0;
  bool holds_frozen_copy = false;

  friend constexpr bool operator==(training_program const&, training_program const&) = default;
};

}  // namespace ashlar::cost
