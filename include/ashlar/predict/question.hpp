// A run as it is described: a model, devices, and how the one is divided over the others.
#pragma once

#include <ashlar/predict/architecture.hpp>
#include <ashlar/predict/machine.hpp>
#include <ashlar/predict/recomputation.hpp>

#include <exception>
#include <string_view>
#include <vector>

namespace ashlar {
struct schedule;
}
namespace ashlar::catalog {
struct entry;
}

namespace ashlar::predict {

// What data ranks share: ZeRO-1, ZeRO-2, and ZeRO-3 or FSDP.
enum class sharding : unsigned char { none, optimizer, gradients, full };

// The training program: what it fuses, overlaps and keeps. `automatic`: told by the rest of the
// question.
enum class program_kind : unsigned char { automatic, tuned, plain, classic };

// Whether scores are written to memory between the products of attention. `automatic`: as the program
// does.
enum class attention_kernel : unsigned char { automatic, fused, unfused };

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
  recomputation again = recomputation::none;
  chosen_layers again_in;
  number_format format = number_format::bf16;
  program_kind program = program_kind::automatic;
  attention_kernel attention = attention_kernel::automatic;
  // Embedding and loss count as a layer each when layers are divided into stages.
  bool counts_ends = false;
  std::string_view layout;  // Megatron's letters, or layers of each stage with commas; empty: even

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
};

// What must hold for a run to be predicted.
enum class requirement : unsigned char {
  sizes_are_positive,              // number: which is not
  sizes_are_small_enough,          // number: the product that is too large
  ranks_are_all_devices,           // number: ranks; limit: devices
  nodes_are_full,                  // number: devices; limit: of a node
  batch_divides,                   // number: batch; limit: micro-batch x data
  heads_divide,                    // number: heads; limit: tensor
  experts_divide,                  // number: experts; limit: expert ranks
  expert_ranks_divide_a_stage,     // number: expert x expert tensor; limit: tensor x context x data
  context_divides_the_sequence,    // number: sequence; limit: context
  chunks_need_a_pipeline,          // number: chunks
  model_is_whole,                  // a size of the model is no positive, finite number
  machine_is_whole,                // likewise of the machine
  constants_are_positive,          // number: which is not
  layout_is_read,                  // number: the letter, from 1, that is not understood
  layout_has_every_stage,          // number: its stages; limit: those of the run
  layout_has_every_layer,          // number: its layers; limit: of the model
  layout_is_small_enough,          // limit: letters when it is written out
  something_trains,                // the model is frozen
  measured_has_every_stage,        // number: stages that were measured; limit: those of the run
  measured_is_positive,            // number: the stage
  schedule_has_every_device,       // number: its devices; limit: pipeline
  schedule_has_every_micro_batch,  // number: its micro-batches; limit: those of a data rank
  schedule_has_these_chunks,       // number: chunks; limit: its stages; of a device, if they divide
  schedule_is_small_enough,        // number: micro-batches that would be executed; limit: stages
  schedule_trains_alone,           // it has no backward, runs forwards again, or does other work
};

// Thrown where there is no prediction.
struct unpredictable : std::exception {
  requirement broken;
  long long number, limit;

  // `it`: the number that breaks it; `most`: what it may be at most, where there is such a limit.
  unpredictable(requirement what_must_hold, long long it, long long most = 0)
      : broken(what_must_hold), number(it), limit(most) {}
  char const* what() const noexcept override { return "the run cannot be predicted"; }
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

// Ranks that hold the same experts.
double expert_data(question const& q);

// Mean number of keys that a query has, with a causal mask.
double attention_span(question const& q, mixer const& m);

// Operations of the model's own arithmetic in a step: 6 a parameter that a token meets, without the
// input table, and three times causal attention; less where parts are frozen. Nothing that is run again.
double step_operations(question const& q);

}  // namespace ashlar::predict

#ifndef ASHLAR_COMPILED
#include <ashlar/predict/question.ipp>
#endif
