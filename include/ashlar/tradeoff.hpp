// What a schedule costs at cluster scale: small batches a device leave it idle, large batches waste
// samples.
//
// Source: Lamy-Poirier, Breadth-First Pipeline Parallelism (2022), sections 3 and 5.
#pragma once

#include <ashlar/catalog.hpp>
#include <ashlar/metrics.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// A model as a pipeline sees it. Ticks are per layer and micro-batch.
struct layered_model {
  int layers = 64;
  tick forward = 10;
  tick backward = 30;   // with the recomputation, if there is one
  tick transfer = 2;    // of a micro-batch's activations from device to device
  tick reduction = 0;   // of a layer's gradient over the data-parallel ranks, once a step
  int micro_batch = 1;  // samples
};

// How a pipeline of p devices runs it.
struct pipeline_choice {
  catalog::entry const* entry = nullptr;
  devices p;
  chunks loops{1};  // stages on one device
  micro_batches m;
  bool blocks = false;  // transfers stop the passes, and gradients are reduced after the last pass
};

// Time of one step, in ticks: the schedule's makespan, and what the reductions add. A stage's gradient
// is reduced once it is complete, one after another on each device, beside the passes unless transfers
// block. Throws violation: rule::parameter_is_a_multiple unless the stages are of equally many layers;
// and as entry::make does.
constexpr tick step_time(layered_model const& model, pipeline_choice const& choice) {
  int const stage_count = choice.p.value * choice.loops.value;
  if (diagnosis const d =
          catalog::multiple_of(parameter::layer_count, model.layers, stage_count < 1 ? 1 : stage_count);
      !d.ok())
    throw violation{d};
  tick const layers = model.layers / stage_count;
  tick const stop = choice.blocks ? model.transfer : 0;
  // A fused backward is the sum of its parts; how it is cut makes no difference to it.
  stage_cost const stage{.forward = layers * model.forward + stop,
                         .backward_input = 1,
                         .backward_weight = layers * model.backward + stop - 1};
  schedule const s = choice.entry->make({.p = choice.p,
                                         .m = choice.m,
                                         .cost = costs(stage, choice.blocks ? 0 : model.transfer),
                                         .v = choice.loops});
  tick const end = makespan(s), reduction = layers * model.reduction;
  tick last = end;
  for (auto const& order : s.order) {
    // Ready times ascend where a stage's last weight pass is met: backwards over the order, once a
    // stage.
    std::vector<tick> ready;
    std::vector<char> met(static_cast<std::size_t>(s.stage_count()), 0);
    for (std::size_t i = order.size(); i-- > 0;) {
      char& seen = met[static_cast<std::size_t>(order[i].what.stage)];
      if (!gives_weight_gradient(order[i].what.kind) || seen != 0) continue;
      seen = 1;
      ready.push_back(s.end_of(order[i]));
    }
    tick free = choice.blocks ? end : 0;
    for (std::size_t i = ready.size(); i-- > 0;) free = (ready[i] > free ? ready[i] : free) + reduction;
    last = free > last ? free : last;
  }
  return last;
}

// Share of the step in which a device computes: 1 without any bubble.
constexpr double utilisation(layered_model const& model, pipeline_choice const& choice) {
  double const work = static_cast<double>(model.forward + model.backward) * model.layers * choice.m.value
                      / choice.p.value;
  return work / static_cast<double>(step_time(model, choice));
}

// Samples a device: the batch over all devices of the pipeline.
constexpr double batch_per_device(layered_model const& model, pipeline_choice const& choice) {
  return static_cast<double>(model.micro_batch) * choice.m.value / choice.p.value;
}

// Device time of a whole training, relative to full utilisation at the smallest batch: a batch as large
// as the critical one needs twice the samples (McCandlish et al., large-batch training, 2018).
constexpr double training_cost(double utilised, double batch_a_device, double device_count,
                               double critical_batch) {
  return (1 + batch_a_device * device_count / critical_batch) / utilised;
}

// Time of a whole training, in the same unit for one device.
constexpr double training_time(double cost, double device_count) { return cost / device_count; }

}  // namespace ashlar
