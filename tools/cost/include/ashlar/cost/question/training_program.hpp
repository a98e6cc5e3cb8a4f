// The behaviour of a training program: what it fuses, overlaps and keeps.
#pragma once

#include <ashlar/cost/cluster/machine.hpp>

namespace ashlar::cost {

// The training program: what it fuses, overlaps and keeps. `automatic`: derived from the rest of the
// question.
enum class program_kind : unsigned char { automatic, tuned, plain, classic };

// The kernel that computes attention. `unfused` writes its scores to memory. `fused` is the program's
// usual kernel. `sdpa` is the choice of PyTorch's scaled_dot_product_attention, cuDNN on Hopper and
// Blackwell since it prefers that (sdp_utils.cpp, with cuDNN after 9.15). `automatic`: as the program
// does.
enum class attention_kernel : unsigned char { automatic, fused, unfused, flash_2, flash_3, cudnn, sdpa };

// Whether each token of norms is on one tensor rank alone: Megatron-LM's --sequence-parallel.
// `automatic`: as the program does.
enum class sequence_split : unsigned char { automatic, on, off };

// Facts about the program that do not follow from the layout.
struct training_program {
  program_kind kind = program_kind::automatic;
  number_format format = number_format::bf16;
  attention_kernel attention = attention_kernel::automatic;
  sequence_split sequence_parallel = sequence_split::automatic;
  bool dispatches_8_bits = false;  // tokens go to experts in 8 bits, and come back in 16
  // Within pairs, exchanges do not wait for gradients of weights: Megatron-Core's delay_wgrad_compute.
  bool delays_weights = false;
  // Copies of shards are summed once a step, as in MiCS; else after each backward, as in PyTorch's HSDP.
  bool sums_copies_once = false;

  friend constexpr bool operator==(training_program const&, training_program const&) = default;
};

}  // namespace ashlar::cost
