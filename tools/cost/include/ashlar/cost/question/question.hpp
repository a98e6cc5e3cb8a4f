// A run: a model, devices, how the model is divided over them, and the program that trains it.
#pragma once

#include <ashlar/cost/cluster/cluster.hpp>
#include <ashlar/cost/layout/layout.hpp>
#include <ashlar/cost/model/architecture.hpp>
#include <ashlar/cost/model/unpredictable.hpp>
#include <ashlar/cost/question/training_program.hpp>

#include <vector>

namespace ashlar::cost {

// Measured seconds of a stage's passes, including everything that they wait for.
struct measured_stage {
  static constexpr double not_measured = -1;

  double forward = 0, backward = 0;
  double weights = not_measured;  // the backward's share for gradients of weights
};

// Measurements that replace the passes' formulas.
struct measured_passes {
  std::vector<measured_stage> stages;              // one for all, or one each; empty: none
  double transfer = measured_stage::not_measured;  // seconds, between neighbouring stages
};

// The run to predict.
struct question {
  architecture model;
  cost::cluster cluster;
  cost::layout layout;
  training_program program;
  int sequence = 1;  // tokens
  int batch = 1;     // sequences
  measured_passes measured;
  // Frozen models whose forward runs beside each of the model's own, on the same tokens: teachers of a
  // distillation. Their logits are held until the loss is taken.
  std::vector<architecture> teachers = {};

  // Micro-batches of each data rank.
  int micro_batches() const {
    long long const together = static_cast<long long>(layout.micro_batch) * layout.data;
    return static_cast<int>((batch + together - 1) / together);
  }

  // Tokens of a micro-batch on one context rank.
  double micro_batch_tokens() const {
    return static_cast<double>(layout.micro_batch) * sequence / layout.context;
  }
};

// Throws unpredictable.
void check(question const& q);

// Rows of the table, padded to a multiple of 128 x tensor ranks, as in Megatron.
double padded_vocabulary(architecture const& model, int tensor);

// Rows of the head on each tensor rank, and its columns. Logits are divided, a head of its own is not.
double head_rows(architecture const& model, int tensor);
double head_columns(architecture const& model);

// The ranks of one stage in a domain. With pipeline_inside a domain holds several stages; each has its
// tensor and context ranks for every data rank that fits there.
int stage_ranks_in_domain(cluster const& on, layout const& l);

// Mean number of keys per query, under a causal mask or for an encoder.
double attention_span(int sequence, mixer const& m);

// Operations of the model's own arithmetic in a step: 6 per parameter that a token meets, without the
// input table, plus three times causal attention; fewer if parts are frozen. Recomputation does not
// count.
double step_operations(architecture const& model, int sequence, int batch);

}  // namespace ashlar::cost
