// Traits of the training program: those that the run says, and the program's defaults for the rest.
#pragma once

#include <ashlar/cost/question/question.hpp>

namespace ashlar::cost {

// Traits of the training program.
struct stack {
  program_kind program = program_kind::tuned;
  fact_values facts;
  // FSDP of PyTorch or Megatron: data ranks shard the weights, or the gradients without a pipeline.
  bool is_sharded = false;
  // Megatron before the distributed optimizer (2021-22): unfused attention, 16-bit sums without overlap.
  bool is_classic = false;
  // A small PyTorch program: products of cuBLAS, FlashAttention 2, little else fused.
  bool is_plain = false;
  bool is_torchtitan = false;
  // Kernels of Transformer Engine: Megatron-Core, and FSDP on Blackwell.
  bool is_tuned = false;
  // Scores are written to memory, and kept from the forward to the backward.
  bool writes_scores = false;
  bool has_usual_attention = true;  // as the program has it by default
  // Gradients are sharded beside a pipeline: those of a virtual stage are whole only while they are
  // summed.
  bool sums_in_shards = false;
  // Each token of norms is on one tensor rank: always in Megatron-Core's recipes and beside FSDP, and in
  // older programs since full recomputation went out of use.
  bool splits_sequences = false;
  // Gathers and scatters of tensor ranks run during products. Megatron-Core can do that only if
  // sequences are split (--tp-comm-overlap, megatron/training/arguments.py).
  bool hides_exchanges = false;
};

// The traits of this run's program.
stack stack_of(question const& q);

// The program's value of each fact, and where it is written.
fact_values defaults_of(program_kind program, machine const& device);
char const* defaults_source(program_kind program);

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
