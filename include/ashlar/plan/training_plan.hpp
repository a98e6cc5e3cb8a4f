// The seconds and the bytes of a plan of training.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/plan/listed_layers.hpp>
#include <ashlar/plan/plan_question.hpp>
#include <ashlar/plan/plan_sites.hpp>
#include <ashlar/plan/simulated_step.hpp>
#include <ashlar/plan/step_model.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Seconds of the passes of each stage: of a micro-batch, or of one of the pieces of its sequences, which
// are taken to share everything alike. Weights in shards are gathered, and gradients scattered, beside
// the passes of each: a pass takes as long as the longer of both.
constexpr std::vector<stage_seconds> times_of(plan_question const& q, training_plan const& plan) {
  std::vector<stage_seconds> all;
  if (listed_model const* const list = list_of(q, plan.layout.tensor); list != nullptr)
    all =
        stage_times(*list, plan.layout, plan.sharding, plan.layers, nth(q.kinds, plan.kinds[0]).machine);
  else
    all = stage_times(q.model, plan.layout, plan.sharding, {plan.layers, true}, sites_of(q, plan));
  for (stage_seconds& each : all) {
    each.forward = max_of(each.forward / plan.sequence_chunks, each.gather);
    each.backward = max_of(each.backward / plan.sequence_chunks, each.gather + each.scatter);
    each.send /= plan.sequence_chunks;
  }
  return all;
}

// Bytes of each stage on one device, likewise.
constexpr memory_model bytes_of(plan_question const& q, training_plan const& plan) {
  memory_model m;
  if (listed_model const* const list = list_of(q, plan.layout.tensor); list != nullptr)
    m = stage_bytes(*list, plan.layout, plan.sharding, plan.layers);
  else
    m = stage_bytes(q.model, plan.layout, plan.sharding, {plan.layers, true}, q.widths);
  for (stage_memory& each : m.stages) each.stash /= plan.sequence_chunks;
  return m;
}

constexpr double simulated_seconds(plan_question const& q, training_plan const& plan) {
  return simulated_step(passes_of(plan, plan.micro_batches), times_of(q, plan), message_mode::beside);
}

// Every device does its passes, after the forwards that lead to its first stage, and then sums its
// gradients. Whatever the order, no step of these stages on these devices is shorter. O(stages).
constexpr double least_seconds(plan_question const& q, training_plan const& plan) {
  placement const where = placement_of(plan);
  std::vector<stage_seconds> const times = times_of(q, plan);
  std::vector<double> busy(static_cast<std::size_t>(where.device_count()), -1.0);
  int const units = plan.micro_batches * plan.sequence_chunks;
  double until = 0;
  for (int stage = 0; stage < where.stage_count(); ++stage) {
    stage_seconds const& s = nth(times, stage);
    double& sum = nth(busy, where.device_of(0, stage));
    if (sum < 0) sum = until;  // its first
    sum += units * (s.forward + s.backward) + s.reduction;
    until += s.forward;
  }
  double least = 0;
  for (double each : busy) least = max_of(least, each);
  // Ticks are whole nanoseconds: a pass may be half of one shorter in a simulation.
  return max_of(0.0, least - 1e-9 * (units + 1.0) * where.stage_count());
}

// Seconds in which the device with most to do computes.
constexpr double busiest_seconds(plan_question const& q, training_plan const& plan) {
  placement const where = placement_of(plan);
  std::vector<stage_seconds> const times = times_of(q, plan);
  std::vector<double> busy(static_cast<std::size_t>(where.device_count()), 0.0);
  for (int stage = 0; stage < where.stage_count(); ++stage) {
    stage_seconds const& s = nth(times, stage);
    nth(busy, where.device_of(0, stage)) +=
        plan.micro_batches * plan.sequence_chunks * (s.forward + s.backward);
  }
  double most = 0;
  for (double each : busy) most = max_of(most, each);
  return most;
}

}  // namespace ashlar
