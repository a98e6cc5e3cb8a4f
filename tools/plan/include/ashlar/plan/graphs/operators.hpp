// A model as a graph of operators, and the time and memory of a stage made of some of them.
#pragma once

#include <ashlar/core/cost.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/model/stage_graph.hpp>

#include <vector>

namespace ashlar {

// The time and memory of one operator; sums of them describe a stage. This is not a stage_cost: ticks
// are per sample, prefix sums are subtracted, and no stage of a planned graph recomputes.
struct operator_cost {
  tick launch = 0;  // of a forward and of an input pass, regardless of size
  tick forward = 0, backward_input = 0, backward_weight = 0;  // ticks a sample
  byte_count weights = 0;                                     // with gradients and optimizer state
  byte_count kept = 0;                                        // from forward to backward, a sample
  byte_count output = 0;                                      // to each next operator, per sample

  // Adds the times and bytes of another operator of the same stage.
  void add(operator_cost const& other);

  friend constexpr bool operator==(operator_cost const&, operator_cost const&) = default;
};

// A model that is not yet cut into stages.
struct operator_model {
  stage_graph graph;  // each operator is a stage
  std::vector<operator_cost> cost;
};

// Identical devices.
struct operator_machine {
  int device_count = 1;
  byte_count memory = max_tick;  // of a device
  byte_count bandwidth = 0;      // of a link between two stages, bytes a tick; 0: unlimited
};

// Ticks of a message on a link; 0 if the bandwidth is unlimited (0).
inline tick message_time(byte_count bytes, byte_count bandwidth) {
  return bandwidth == 0 ? 0 : bytes / bandwidth + (bytes % bandwidth == 0 ? 0 : 1);
}

// The batch of one step.
struct operator_batch {
  int samples = 1;
  int largest_micro_batch = 1;  // sizes are powers of two that divide the samples
};

// The way a stage runs. Its devices share a micro-batch equally.
struct stage_choice {
  int micro_batch = 1;  // samples
  int devices = 1;

  int share() const { return (micro_batch + devices - 1) / devices; }

  friend constexpr bool operator==(stage_choice const&, stage_choice const&) = default;
};

// Ticks of each pass of a stage of these operators. Requires, as the two below, sums of a model that
// check() accepts, and samples and devices of a choice of its batch.
stage_cost cost_of_stage(operator_cost const& sum, stage_choice const& how);

// Compute ticks of each device of the stage in a step.
inline tick busy_of_stage(operator_cost const& sum, stage_choice const& how, int samples) {
  stage_cost const c = cost_of_stage(sum, how);
  return samples / how.micro_batch * (c.forward + c.backward_input + c.backward_weight);
}

// Bytes on each device of the stage, with this many samples in flight, as whole micro-batches and at
// most all samples.
byte_count memory_of_stage(operator_cost const& sum, stage_choice const& how, std::int64_t in_flight,
                           int samples);

// The most devices per graph, since time grows with the square of their number.
inline constexpr int most_planned_devices = 1 << 16;

// Requires positive counts, at most most_planned_devices, one cost per operator, nothing negative, and
// sums without overflow.
diagnosis check(operator_model const& m, operator_machine const& machine, operator_batch const& batch);

}  // namespace ashlar
