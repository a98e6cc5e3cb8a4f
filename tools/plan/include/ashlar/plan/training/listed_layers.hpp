// A model as a list of layers with costs measured on one of the tensor ranks, and the seconds and bytes
// of stages cut from it.
#pragma once

#include <ashlar/core/sequence_costs.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/plan/training/layout.hpp>
#include <ashlar/plan/training/simulated_step.hpp>
#include <ashlar/plan/training/step_model.hpp>
#include <ashlar/plan/training/transformer_memory.hpp>

#include <vector>

namespace ashlar {

// Costs of a layer for one sequence.
struct listed_layer {
  pass_seconds passes = {};
  double parameters = 0;
  double kept = 0;    // bytes from the forward to the backward
  double output = 0;  // bytes for the next layer; also those kept of a recomputed layer
};

// Layers measured on `tensor` ranks.
struct listed_model {
  int tensor = 1;  // ranks that each layer is split over
  std::vector<listed_layer> layers;
  causal_share causal = {};  // share of attention in each pass; an input pass is half of a backward

  double parameters() const;
  // Seconds of passes of one sequence, on all tensor ranks together.
  double work() const;
};

// Seconds of a micro-batch: a multiple of those of a sequence.
inline pass_seconds layer_seconds(listed_layer const& each, training_layout const& l) {
  double const again = l.again == recomputation::full ? each.passes.forward : 0;
  return l.micro_batch * pass_seconds{each.passes.forward, each.passes.backward + again};
}

// The share of causal attention in layer_seconds().
pass_seconds attention_seconds(listed_layer const& each, training_layout const& l, causal_share share);

// Times of stages of this many layers each.
std::vector<stage_seconds> stage_times(listed_model const& t, training_layout const& l,
                                       sharding_level level, std::vector<int> const& sizes,
                                       device_machine const& machine);

// Memory of each stage on one device; with full recomputation the largest layer is materialized at a
// time.
memory_model stage_bytes(listed_model const& t, training_layout const& l, sharding_level level,
                         std::vector<int> const& sizes);

}  // namespace ashlar
