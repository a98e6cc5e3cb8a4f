// A run as it is described: a model, devices, and how the one is divided over the others.
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

// What data ranks share: ZeRO-1, ZeRO-2 (beside a pipeline, weights stay whole), and ZeRO-3 or FSDP.
enum class sharding : unsigned char { none, optimizer, gradients, full };

// The training program: what it fuses, overlaps and keeps. `automatic`: told by the rest of the
// question.
enum class program_kind : unsigned char { automatic, tuned, plain, classic };

// What computes attention. `unfused`: its scores are written to memory. `fused`: the kernel that is
// usual in the program. `sdpa`: what PyTorch's scaled_dot_product_attention takes, cuDNN on Hopper and
// Blackwell since it prefers that (sdp_utils.cpp, with cuDNN after 9.15). `automatic`: as the program
// does.
enum class attention_kernel : unsigned char { automatic, fused, unfused, flash_2, flash_3, cudnn, sdpa };

// Whether each token of norms is on one tensor rank alone: Megatron-LM's --sequence-parallel.
// `automatic`: as the program does.
enum class sequence_split : unsigned char { automatic, on, off };

// Seconds of a stage's passes that were measured, all that they wait for included.
struct measured_stage {
  static constexpr double not_measured = -1;

  double forward = 0, backward = 0;
  double weights = not_measured;  // of the backward: of weights' gradients
};

// The run that is asked about.
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
  // This many neighbours among the data and context ranks share, and each other group of them has a
  // copy: HSDP of PyTorch, MiCS of DeepSpeed, optimizer instances of Megatron-Core. 0: all share.
  int shard_ranks = 0;
  // Copies are summed once a step, as MiCS does it; else after each backward, as PyTorch's HSDP does.
  bool sums_copies_once = false;
  // So many ranks have all weights among them in 16 bits, beside the shards, for backwards to gather:
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
  // In pairs of passes, exchanges do not wait for gradients of weights: Megatron-Core's
  // delay_wgrad_compute.
  bool delays_weights = false;
  // Embedding and loss count as a layer each when layers are divided into stages.
  bool counts_ends = false;
  std::string_view layout;   // Megatron's letters, or layers of each stage with commas; empty: even
  std::vector<stage> dealt;  // the stages themselves, in place of a layout; empty: the layout says it
  // Ranks of a pipeline are nearer to each other than data ranks are: Megatron-LM's
  // --use-tp-pp-dp-mapping. Otherwise they are furthest apart.
  bool pipeline_inside = false;

  // The order of passes: a schedule of the catalog, or one's own. Neither: one forward, one backward,
  // with virtual stages interleaved, whose time has a closed form.
  catalog::entry const* published = nullptr;
  schedule const* own_order = nullptr;

  // In place of what the formulas say of passes: one for all stages, or one each; empty: none.
  std::vector<measured_stage> measured;
  double measured_transfer = measured_stage::not_measured;  // seconds, between neighbouring stages

  // Of the layers that predict further tokens.
  recomputation again_of_predictor() const { return again_in.are_all() ? again : recomputation::none; }

  bool is_executed() const { return published != nullptr || own_order != nullptr; }
  bool has_own_stages() const { return !layout.empty() || !dealt.empty(); }
};

// Throws unpredictable.
void check(question const& q);

// Of each data rank.
inline int micro_batches(question const& q) {
  long long const together = static_cast<long long>(q.micro_batch) * q.data;
  return static_cast<int>((q.batch + together - 1) / together);
}

// Of a micro-batch on one context rank.
inline double micro_batch_tokens(question const& q) {
  return static_cast<double>(q.micro_batch) * q.sequence / q.context;
}

// Rows of the table are padded to a multiple of 128 x tensor ranks, as Megatron does.
double padded_vocabulary(question const& q);

// Devices that the fast link joins, of those in the run.
int domain_of(question const& q);

// Of these, the ranks of one stage: where pipeline ranks are inside, a domain holds several stages, and
// as many tensor and context ranks of each as data ranks that have room beside them.
int stage_ranks_in_domain(question const& q);

// Data and context ranks that share what `shares` says; and the copies that there are of that.
inline double shard_ranks(question const& q) {
  return q.shard_ranks > 0 ? q.shard_ranks : 1.0 * q.data * q.context;
}
inline double copies_of_shards(question const& q) { return 1.0 * q.data * q.context / shard_ranks(q); }

// Ranks that hold the same experts; and those of them that share.
double expert_data(question const& q);
inline double expert_shard_ranks(question const& q) { return expert_data(q) / copies_of_shards(q); }

// Mean number of keys that a query has, with a causal mask.
double attention_span(question const& q, mixer const& m);

// Operations of the model's own arithmetic in a step: 6 a parameter that a token meets, without the
// input table, and three times causal attention; less where parts are frozen. Nothing that is run again.
double step_operations(question const& q);

}  // namespace ashlar::predict

#ifndef ASHLAR_COMPILED
#include <ashlar/predict/question.ipp>
#endif
