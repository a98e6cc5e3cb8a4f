// A model as a graph of operators, and the time and memory of a stage made of some of them.
#pragma once

#include <ashlar/core/cost.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/model/stage_graph.hpp>

#include <vector>

namespace ashlar {

// What one operator takes; sums of them are what a stage takes. No stage_cost: these are ticks of a
// sample, of which prefix sums are subtracted, and no stage of a planned graph recomputes.
struct operator_cost {
  tick launch = 0;                                            // of each pass, whatever its size
  tick forward = 0, backward_input = 0, backward_weight = 0;  // ticks a sample
  byte_count weights = 0;                                     // with gradients and optimizer state
  byte_count kept = 0;                                        // from forward to backward, a sample
  byte_count output = 0;                                      // to each next operator, a sample

  // Adds the times and bytes of another operator of the same stage.
  void add(operator_cost const& other);

  friend constexpr bool operator==(operator_cost const&, operator_cost const&) = default;
};

// A model that is not cut into stages yet.
struct operator_model {
  stage_graph graph;  // an operator a stage
  std::vector<operator_cost> cost;
};

// Devices alike.
struct operator_machine {
  int device_count = 1;
  byte_count memory = max_tick;  // of a device
  byte_count bandwidth = 0;      // of a link between two stages, bytes a tick; 0: unlimited
};

// Ticks of so many bytes on a link; none on an unlimited one.
inline tick message_time(byte_count bytes, byte_count bandwidth) {
  return bandwidth == 0 ? 0 : bytes / bandwidth + (bytes % bandwidth == 0 ? 0 : 1);
}

// What one step trains on.
struct operator_batch {
  int samples = 1;
  int largest_micro_batch = 1;  // sizes are powers of two that divide the samples
};

// A stage takes its micro-batch in equal shares on its devices.
struct stage_choice {
  int micro_batch = 1;  // samples
  int devices = 1;

  int share() const { return (micro_batch + devices - 1) / devices; }

  friend constexpr bool operator==(stage_choice const&, stage_choice const&) = default;
};

// Ticks of a forward or a backward of a stage of these operators.
stage_cost cost_of_stage(operator_cost const& sum, stage_choice const& how);

// Ticks in which each device of the stage computes in a step.
inline tick busy_of_stage(operator_cost const& sum, stage_choice const& how, int samples) {
  stage_cost const c = cost_of_stage(sum, how);
  return samples / how.micro_batch * (c.forward + c.backward_input + c.backward_weight);
}

// Bytes on each device of the stage, with this many samples in flight: whole micro-batches, and no more
// than there are.
byte_count memory_of_stage(operator_cost const& sum, stage_choice const& how, std::int64_t in_flight,
                           int samples);

// More are never weighed for one graph: time grows with the square of their number.
inline constexpr int most_planned_devices = 1 << 16;

// Counts are positive, no more devices than most_planned_devices, one cost an operator, nothing is
// negative or too large to be added up.
diagnosis check(operator_model const& m, operator_machine const& machine, operator_batch const& batch);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/plan/graphs/operators.ipp>
#endif
