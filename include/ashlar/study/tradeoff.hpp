// The cost of a schedule at cluster scale: a small batch per device leaves it idle, a large one wastes
// samples.
//
// Source: Lamy-Poirier, Breadth-First Pipeline Parallelism (2022), sections 3 and 5.
#pragma once

#include <ashlar/catalog/entry.hpp>

#include <optional>

namespace ashlar {

// A model as a pipeline sees it. Ticks are per layer and micro-batch. No stage_cost: the source knows
// one time of a backward; that of a whole stage is split, with the transfers that block it.
struct layered_model {
  int layers = 64;
  tick forward = 10;
  tick backward = 30;   // with the recomputation, if there is one; where it is split, in halves
  tick transfer = 2;    // of a micro-batch's activations from device to device
  tick reduction = 0;   // of a layer's gradient over the data-parallel ranks, once a step
  int micro_batch = 1;  // samples
};

// How a pipeline of p devices runs it: an entry of the catalog or a schedule of one's own, for p
// devices, this many loops and micro-batches.
struct pipeline_choice {
  catalog::entry const* entry = nullptr;
  devices p;
  chunks loops{1};  // stages on one device
  micro_batches m;
  bool blocks = false;  // transfers stop the passes, and gradients are reduced after the last pass
  schedule const* own = nullptr;  // in place of an entry
};

// Checks that counts are positive, nothing is negative or too long to be added up, and there is a
// schedule to take: an entry, or one's own of these sizes.
diagnosis check(layered_model const& model, pipeline_choice const& choice);

// The passes of a step; where transfers block, they are part of them. Throws violation: check(),
// rule::parameter_is_a_multiple unless the stages are of equally many layers, and so is the share of a
// stage that a sequence chunk takes; and as entry::make or retime does.
schedule step_schedule(layered_model const& model, pipeline_choice const& choice);

// Ticks in which a stage's gradient is reduced.
inline tick reduction_time(layered_model const& model, schedule const& s) {
  return s.stage_count() < 1 ? 0 : saturating_product(model.layers / s.stage_count(), model.reduction);
}

// Time of one step, in ticks: the schedule's makespan, and the time that reductions add. A stage's
// gradient is reduced once it is complete, one after another on each device, beside the passes unless
// transfers block. Throws as step_schedule does.
tick step_time(layered_model const& model, pipeline_choice const& choice);

// A lower bound on the step for all schedules of the same passes on the same devices, with the memory of
// this one: after its last pass stands a reduction or, where transfers block, those of all stages of a
// device. None unless stages form a chain, and for a schedule that breaks a rule. Throws as
// step_schedule does.
std::optional<tick> least_step_time(layered_model const& model, pipeline_choice const& choice);

// Share of a step in which a device computes: 1 without any bubble, 0 of no time. No more than 1 for a
// schedule that has all its passes. Throws as step_schedule does.
double utilisation(layered_model const& model, pipeline_choice const& choice);

// Share of a step of `step` ticks.
double utilisation_of(layered_model const& model, pipeline_choice const& choice, tick step);

// Samples per device: the batch over all devices of the pipeline.
inline double batch_per_device(layered_model const& model, pipeline_choice const& choice) {
  return static_cast<double>(model.micro_batch) * choice.m.value / choice.p.value;
}

// Device time of a whole training, relative to full utilisation at the smallest batch: a batch as large
// as the critical one needs twice the samples (McCandlish et al., large-batch training, 2018).
inline double training_cost(double utilised, double batch_a_device, double device_count,
                            double critical_batch) {
  return (1 + batch_a_device * device_count / critical_batch) / utilised;
}

// Time of a whole training, in the same unit for one device.
inline double training_time(double cost, double device_count) { return cost / device_count; }

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/study/tradeoff.ipp>
#endif
