// Parameters of one device, before data ranks shard them.
#pragma once

#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/cost/step/optimizer_state.hpp>
#include <ashlar/cost/step/packed_weights.hpp>
#include <ashlar/cost/step/parameter_counts.hpp>

#include <vector>

namespace ashlar::cost {

// The parameters of one device.
struct held_parameters {
  parameter_counts all;
  parameter_counts trained;   // updated
  parameter_counts unused;    // have gradients that no optimizer takes
  parameter_counts backward;  // used by a backward
  packed_weights packed;      // among the frozen ones
  optimizer_state state;      // of what is updated

  // Adds another part of the device's model.
  void add(held_parameters const& other) {
    all.add(other.all);
    trained.add(other.trained);
    unused.add(other.unused);
    backward.add(other.backward);
    packed.add(other.packed);
    state.add(other.state);
  }
  // Bytes of all weights as they are gathered from shards, in 16 bits or packed.
  double gathered_bytes() const { return 2 * (all.both() - packed.weights) + packed.codes; }
};

// The parameters of one stage on one of its tensor ranks: a stage of the model's, which, like the sizes,
// is that of a question that check() accepts.
held_parameters held_by_stage(architecture const& model, layout const& sizes, stage const& s);
// Sums over the stages with these numbers, which are there.
held_parameters held_by_stages(architecture const& model, layout const& sizes,
                               std::vector<stage> const& stages, std::vector<int> const& numbers);

}  // namespace ashlar::cost
