// Parameters of one device, before data ranks shard them.
#pragma once

#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/cost/step/packed_weights.hpp>

#include <vector>

namespace ashlar::cost {

// Numbers of parameters, by the ranks that shard them.
struct parameter_counts {
  double dense = 0;   // summed over data x context ranks
  double expert = 0;  // summed over the ranks that hold the same experts

  double both() const { return dense + expert; }
  // Adds the numbers of another part of the device's model.
  void add(parameter_counts const& other) {
    dense += other.dense;
    expert += other.expert;
  }
};

// The parameters of one device.
struct held_parameters {
  parameter_counts all;
  parameter_counts trained;   // updated
  parameter_counts unused;    // have gradients that no optimizer takes
  parameter_counts backward;  // used by a backward
  packed_weights packed;      // among the frozen ones

  // Adds another part of the device's model.
  void add(held_parameters const& other) {
    all.add(other.all);
    trained.add(other.trained);
    unused.add(other.unused);
    backward.add(other.backward);
    packed.add(other.packed);
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
