// A model as a graph of operators, and the time and memory of a stage made of some of them.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/model/stage_graph.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// What one operator takes; sums of them are what a stage takes.
struct operator_cost {
  tick launch = 0;                                            // of each pass, whatever its size
  tick forward = 0, backward_input = 0, backward_weight = 0;  // ticks a sample
  byte_count weights = 0;                                     // with gradients and optimizer state
  byte_count kept = 0;                                        // from forward to backward, a sample
  byte_count output = 0;                                      // to each next operator, a sample

  constexpr void add(operator_cost const& other) {
    launch += other.launch;
    forward += other.forward;
    backward_input += other.backward_input;
    backward_weight += other.backward_weight;
    weights += other.weights;
    kept += other.kept;
  }

  friend constexpr bool operator==(operator_cost const&, operator_cost const&) = default;
};

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

// What one step trains on.
struct operator_batch {
  int samples = 1;
  int largest_micro_batch = 1;  // sizes are powers of two that divide the samples
};

// A stage takes its micro-batch in equal shares on its devices.
struct stage_choice {
  int micro_batch = 1;  // samples
  int devices = 1;

  constexpr int share() const { return (micro_batch + devices - 1) / devices; }

  friend constexpr bool operator==(stage_choice const&, stage_choice const&) = default;
};

// Ticks of a forward or a backward of a stage of these operators.
constexpr stage_cost cost_of_stage(operator_cost const& sum, stage_choice const& how) {
  tick const share = how.share();
  return {.forward = max_of(tick{1}, sum.launch + sum.forward * share),
          .backward_input = max_of(tick{1}, sum.launch + sum.backward_input * share),
          .backward_weight = max_of(tick{1}, sum.backward_weight * share)};
}

// Ticks in which each device of the stage computes in a step.
constexpr tick busy_of_stage(operator_cost const& sum, stage_choice const& how, int samples) {
  stage_cost const c = cost_of_stage(sum, how);
  return samples / how.micro_batch * (c.forward + c.backward_input + c.backward_weight);
}

// Bytes on each device of the stage, with so many samples in flight: whole micro-batches, and no more
// than there are.
constexpr byte_count memory_of_stage(operator_cost const& sum, stage_choice const& how,
                                     std::int64_t in_flight, int samples) {
  std::int64_t const b = how.micro_batch;
  std::int64_t const held = min_of((in_flight + b - 1) / b, samples / b);
  return sum.weights + held * how.share() * sum.kept;
}

// Counts are positive, one cost an operator, nothing is negative.
constexpr diagnosis check(operator_model const& m, operator_machine const& machine,
                          operator_batch const& batch) {
  if (static_cast<int>(m.cost.size()) != m.graph.count())
    return wrong_size(table::operator_costs, m.cost.size(), m.graph.count());
  for (int count : {machine.device_count, batch.samples, batch.largest_micro_batch})
    if (count < 1) return {.broken = rule::counts_are_positive, .number = count};
  if (m.graph.has_sizes() || m.graph.sequence_chunks() != 1)
    return {.broken = rule::micro_batch_sizes_divide};
  if (machine.bandwidth < 0 || machine.memory < 0)
    return {.broken = rule::sizes_fit, .number = min_of(machine.bandwidth, machine.memory)};
  for (std::size_t o = 0; o < m.cost.size(); ++o) {
    operator_cost const& c = m.cost[o];
    site const where{.index = static_cast<int>(o), .what = {.stage = static_cast<int>(o)}};
    for (tick time : {c.launch, c.forward, c.backward_input, c.backward_weight})
      if (time < 0 || time >= max_tick / batch.samples / 8 / m.graph.count())
        return {.broken = rule::durations_are_positive, .first = where, .number = time};
    for (byte_count size : {c.weights, c.kept, c.output})
      if (size < 0 || size >= max_tick / batch.samples / m.graph.count())
        return {.broken = rule::sizes_fit, .first = where, .number = size};
  }
  return {};
}

}  // namespace ashlar
