// A run: a model, devices, and how the model is divided over them.
#pragma once

#include <ashlar/predict/architecture.hpp>
#include <ashlar/predict/machine.hpp>
#include <ashlar/predict/offloading.hpp>
#include <ashlar/predict/recomputation.hpp>
#include <ashlar/predict/stage.hpp>
#include <ashlar/predict/unpredictable.hpp>

#include <string_view>
#include <vector>

namespace ashlar {
struct schedule;
}
namespace ashlar::catalog {
struct entry;
}

namespace ashlar::predict {

// State that data ranks shard: ZeRO-1, ZeRO-2 (beside a pipeline, weights stay whole), and ZeRO-3 or
// FSDP.
enum class sharding : unsigned char { none, optimizer, gradients, full };

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

// Measured seconds of a stage's passes, including everything that they wait for.
struct measured_stage {
  static constexpr double not_measured = -1;

  double forward = 0, backward = 0;
  double weights = not_measured;  // the backward's share for gradients of weights
};

// The run to predict.
struct question {
  architecture model;
  machine device;
  int devices = 1;
  int per_node = 8;
  int sequence = 1;  // tokens
  int batch = 1;     // sequences
  int micro_batch = 1;
  int tensor = 1, pipeline = 1, chunks = 1, context = 1, expert = 1, expert_tensor = 1, data = 1;
  sharding shares = sharding::none;
  // This many neighbours among the data and context ranks shard the state; each other group of them has
  // a copy: HSDP of PyTorch, MiCS of DeepSpeed, optimizer instances of Megatron-Core. 0: all ranks
  // shard.
  int shard_ranks = 0;
  // Copies are summed once a step, as in MiCS; else after each backward, as in PyTorch's HSDP.
  bool sums_copies_once = false;
  // This many ranks together hold all weights in 16 bits beside the shards, for backwards to gather:
  // ZeRO++'s hpZ. 0: backwards gather the shards.
  int weight_ranks = 0;
  recomputation again = recomputation::none;
  chosen_layers again_in;
  offloading leaves;
  number_format format = number_format::bf16;
  program_kind program = program_kind::automatic;
  attention_kernel attention = attention_kernel::automatic;
  sequence_split splits = sequence_split::automatic;
  bool dispatches_8_bits = false;  // tokens go to experts in 8 bits, and come back in 16
  // Within pairs, exchanges do not wait for gradients of weights: Megatron-Core's delay_wgrad_compute.
  bool delays_weights = false;
  // Embedding and loss count as a layer each when layers are divided into stages.
  bool counts_ends = false;
  std::string_view layout;   // Megatron's letters, or layers of each stage with commas; empty: even
  std::vector<stage> dealt;  // the stages themselves, in place of a layout; empty: see `layout`
  // Pipeline ranks are nearer to each other than data ranks: Megatron-LM's --use-tp-pp-dp-mapping.
  // Otherwise they are furthest apart.
  bool pipeline_inside = false;

  // The order of passes: a schedule of the catalog, or your own. Neither: one forward, one backward,
  // with virtual stages interleaved, whose time has a closed form.
  catalog::entry const* published = nullptr;
  schedule const* own_order = nullptr;

  // Measurements that replace the passes' formulas: one for all stages, or one each; empty: none.
  std::vector<measured_stage> measured;
  double measured_transfer = measured_stage::not_measured;  // seconds, between neighbouring stages

  // The recomputation in the layers that predict further tokens.
  recomputation again_of_predictor() const { return again_in.are_all() ? again : recomputation::none; }

  bool is_executed() const { return published != nullptr || own_order != nullptr; }
  bool has_own_stages() const { return !layout.empty() || !dealt.empty(); }
};

// Throws unpredictable.
void check(question const& q);

// Micro-batches of each data rank.
inline int micro_batches(question const& q) {
  long long const together = static_cast<long long>(q.micro_batch) * q.data;
  return static_cast<int>((q.batch + together - 1) / together);
}

// Tokens of a micro-batch on one context rank.
inline double micro_batch_tokens(question const& q) {
  return static_cast<double>(q.micro_batch) * q.sequence / q.context;
}

// Rows of the table, padded to a multiple of 128 x tensor ranks, as in Megatron.
double padded_vocabulary(question const& q);

// Devices of the run that share one fast link.
int domain_of(question const& q);

// The ranks of one stage in a domain. With pipeline_inside a domain holds several stages; each has its
// tensor and context ranks for every data rank that fits there.
int stage_ranks_in_domain(question const& q);

// Data and context ranks that shard the state named by `shares`; and the number of its copies.
inline double shard_ranks(question const& q) {
  return q.shard_ranks > 0 ? q.shard_ranks : 1.0 * q.data * q.context;
}
inline double copies_of_shards(question const& q) { return 1.0 * q.data * q.context / shard_ranks(q); }

// Ranks that hold the same experts; and the number of them that shard their state.
double expert_data(question const& q);
inline double expert_shard_ranks(question const& q) { return expert_data(q) / copies_of_shards(q); }

// Mean number of keys per query under a causal mask.
double attention_span(question const& q, mixer const& m);

// Operations of the model's own arithmetic in a step: 6 per parameter that a token meets, without the
// input table, plus three times causal attention; fewer if parts are frozen. Recomputation does not
// count.
double step_operations(question const& q);

}  // namespace ashlar::predict

#ifndef ASHLAR_COMPILED
#include <ashlar/predict/question.ipp>
#endif
