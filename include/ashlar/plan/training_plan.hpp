// What is asked of a planner of training, what it may answer, and what such a plan takes: its schedule,
// its seconds and its bytes.
#pragma once

#include <ashlar/catalog/entries.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/plan/layer_division.hpp>
#include <ashlar/plan/listed_layers.hpp>
#include <ashlar/plan/simulated_step.hpp>
#include <ashlar/plan/step_model.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace ashlar {

// What is made small: seconds of a step, or seconds times devices.
enum class plan_objective : unsigned char { time, device_time };

// A model, so many devices alike, a batch of so many sequences.
struct plan_question {
  transformer model;                // of a listed model only layers, heads and tokens count
  std::vector<listed_model> lists;  // one for each number of tensor ranks; none: a transformer
  device_machine machine;
  step_constants constants;
  kept_widths widths;
  int device_count = 1;
  bool takes_fewer_devices = false;  // also halves, quarters and so on of the nodes
  plan_objective objective = plan_objective::time;
  int batch = 1;
  double margin = 0;  // share of a device's memory to leave free
  int largest_micro_batch = 8;
  std::vector<sharding_level> levels = {sharding_level::none, sharding_level::optimizer,
                                        sharding_level::gradients, sharding_level::full};
  int tensor = 0;                             // only so many tensor ranks; 0: any
  std::vector<int> chunks = {2, 4};           // stages on a device, where the schedule has the choice
  std::vector<int> sequence_chunks = {2, 4};  // where it works on pieces of sequences

  // What a device may hold.
  constexpr double budget() const { return machine.memory * (1 - margin); }
};

// One way to do it.
struct training_plan {
  training_layout layout;
  sharding_level sharding = sharding_level::none;  // of the data ranks
  int micro_batches = 1;
  catalog::entry const* entry = nullptr;
  int chunks = 1;                // stages on one device
  int sequence_chunks = 1;       // of each micro-batch
  std::vector<int> layers = {};  // of each stage

  constexpr int device_count() const { return layout.tensor * layout.pipeline * layout.data; }
};

constexpr bool is_v_shaped(catalog::entry const& e) {
  return std::string_view(e.name).starts_with("v-") || std::string_view(e.name) == "1f1b-v";
}

constexpr placement placement_of(training_plan const& plan) {
  devices const p{plan.layout.pipeline};
  if (is_v_shaped(*plan.entry)) return v_shape(p);
  if (plan.chunks > 1) return looped(p, chunks{plan.chunks});
  return linear(p);
}

// Enough micro-batches to show the most that is held: the schedules are in their steady part long
// before.
constexpr int enough_micro_batches(training_plan const& plan) {
  return min_of(plan.micro_batches, 4 * plan.layout.pipeline);
}

constexpr schedule passes_of(training_plan const& plan, int micro_batch_count) {
  catalog::shape s{.p = devices{plan.layout.pipeline}, .m = micro_batches{micro_batch_count}};
  s.v = chunks{plan.chunks};
  s.sequence_chunks = plan.sequence_chunks;
  if (plan.entry->uses(parameter::group_size)) s.group = plan.layout.pipeline;
  return plan.entry->make(s);
}

// The list for so many tensor ranks, or null.
constexpr listed_model const* list_of(plan_question const& q, int tensor) {
  for (listed_model const& each : q.lists)
    if (each.tensor == tensor) return &each;
  return nullptr;
}

// Seconds of the passes of each stage: of a micro-batch, or of one of the pieces of its sequences, which
// are taken to share everything alike. Weights in shards are gathered, and gradients scattered, beside
// the passes of each: a pass takes as long as the longer of both.
constexpr std::vector<stage_seconds> times_of(plan_question const& q, training_plan const& plan) {
  std::vector<stage_seconds> all;
  if (listed_model const* const list = list_of(q, plan.layout.tensor); list != nullptr)
    all = stage_times(*list, plan.layout, plan.sharding, plan.layers, q.machine);
  else
    all = stage_times(q.model, plan.layout, plan.sharding, {plan.layers, true}, q.machine, q.constants);
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
    stage_seconds const& s = times[static_cast<std::size_t>(stage)];
    double& sum = busy[static_cast<std::size_t>(where.device_of(0, stage))];
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
    stage_seconds const& s = times[static_cast<std::size_t>(stage)];
    busy[static_cast<std::size_t>(where.device_of(0, stage))] +=
        plan.micro_batches * plan.sequence_chunks * (s.forward + s.backward);
  }
  double most = 0;
  for (double each : busy) most = max_of(most, each);
  return most;
}

}  // namespace ashlar
