// An optimizer's state of the parameters of one device.
#pragma once

#include <ashlar/cost/question/facts.hpp>
#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/cost/step/parameter_counts.hpp>

namespace ashlar::cost {

// Elements of the state, before data ranks shard them.
struct optimizer_state {
  parameter_counts means, squares;
  double projections = 0;       // of gradients
  double singular_vectors = 0;  // of which projections are a part, where gradients have 32 bits
  double largest = 0;           // parameters of the largest one

  // Adds that of another part of the device's model.
  void add(optimizer_state const& other);
};

// Counts a stage of the model's that trains `trained` parameters.
optimizer_state state_of_stage(architecture const& a, layout const& sizes, stage const& s,
                               parameter_counts const& trained);

// Bytes of the state on each of `ranks` that share it, of experts on each of `expert_ranks`, without the
// optimizer's own weights.
double state_bytes(optimizer_state const& state, fact_values const& facts, double ranks,
                   double expert_ranks);

}  // namespace ashlar::cost
