// Assignments of layers to devices and bit widths for serving: the question and the answer.
#pragma once

#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/plan/parts/variants.hpp>
#include <ashlar/plan/serving/two_phase.hpp>

#include <vector>

namespace ashlar {

// A layer (or a group of layers that stay together) on a device, in one of its bit widths: the time of a
// micro-batch of each phase, weights with keys and values, and the price of the quality lost.
struct layer_variant {
  phase_times times = {};
  byte_count memory = 0;
  tick penalty = 0;

  // Its share of an objective, apart from the slowest devices.
  variant sum() const { return {saturating_sum(times.prefill, times.decode), memory, penalty}; }

  friend constexpr bool operator==(layer_variant const&, layer_variant const&) = default;
};

// The question: the layers' variants on each device in each bit width, and the devices' memory limits.
struct serving_problem {
  std::vector<std::vector<std::vector<layer_variant>>> variants;  // by device, layer, bit width
  std::vector<byte_count> limit;                                  // by device
  two_phase shape;

  int device_count() const { return static_cast<int>(limit.size()); }
  int layer_count() const { return variants.empty() ? 0 : static_cast<int>(variants[0].size()); }
  // The variants of a layer on a device, by bit width.
  std::vector<layer_variant> const& of(int device, int layer) const {
    return nth(nth(variants, device), layer);
  }
};

// Puts layers on devices in order, the first on the first device, the last on the last. A device between
// may stay empty.
struct serving_plan {
  std::vector<int> device;  // by layer; empty if nothing fits
  std::vector<int> width;   // by layer: index of the variant
  tick objective = 0;       // two_phase_formula and all penalties

  // The reason why nothing fits. In the fewest bits, with every device before it filled with layers,
  // this device lacks this many bytes for the rest; with them there is a plan.
  int short_device = -1;
  byte_count missing = 0;

  friend constexpr bool operator==(serving_plan const&, serving_plan const&) = default;
};

// The time and memory of each device under a plan.
struct stage_load {
  phase_times times = {0, 0};
  byte_count memory = 0;
  tick penalty = 0;

  friend constexpr bool operator==(stage_load const&, stage_load const&) = default;
};

// The load of each device of the plan. Throws violation with check(problem, plan).
std::vector<stage_load> loads_of(serving_problem const& problem, serving_plan const& plan);

// The plan's objective by the formula. Throws as loads_of() does.
tick objective_of(serving_problem const& problem, serving_plan const& plan);

// Requires every layer on every device in some width, a layer each for the first and the last device,
// nothing negative, and sums without overflow.
diagnosis check(serving_problem const& problem);

// Requires a device and one of its widths for each layer.
diagnosis check(serving_problem const& problem, serving_plan const& plan);

}  // namespace ashlar
