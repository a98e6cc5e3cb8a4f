// Which device serves which layers, in how many bits: the question and the answer.
#pragma once

#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/plan/parts/variants.hpp>
#include <ashlar/plan/serving/two_phase.hpp>

#include <vector>

namespace ashlar {

// A layer (or a group of layers that stay together) on a device, in one of its bit widths: what a
// micro-batch of each phase takes, weights with keys and values, and what the loss of quality is worth.
struct layer_variant {
  phase_times times = {};
  byte_count memory = 0;
  tick penalty = 0;

  // What it adds to an objective whatever the others do.
  variant sum() const { return {saturating_sum(times.prefill, times.decode), memory, penalty}; }

  friend constexpr bool operator==(layer_variant const&, layer_variant const&) = default;
};

// The question: what each layer takes on each device in each bit width, and what a device may hold.
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

// Layers on devices in order, the first on the first device, the last on the last; a device between may
// stay empty.
struct serving_plan {
  std::vector<int> device;  // by layer; empty if nothing fits
  std::vector<int> width;   // by layer: which of its variants
  tick objective = 0;       // two_phase_formula and all penalties

  // Why nothing fits. In the fewest bits, and every device before it filled as far as layers fit, this
  // device is this many bytes short of the rest; with them there is a plan.
  int short_device = -1;
  byte_count missing = 0;

  friend constexpr bool operator==(serving_plan const&, serving_plan const&) = default;
};

// What each device takes and holds under a plan.
struct stage_load {
  phase_times times = {0, 0};
  byte_count memory = 0;
  tick penalty = 0;

  friend constexpr bool operator==(stage_load const&, stage_load const&) = default;
};

// What each device of the plan has to do and to hold. Throws violation with check(problem, plan).
std::vector<stage_load> loads_of(serving_problem const& problem, serving_plan const& plan);

// What a plan comes to by the formula. Throws as loads_of() does.
tick objective_of(serving_problem const& problem, serving_plan const& plan);

// Every device has every layer in some width, there is a layer for the first and one for the last
// device, nothing is negative, and all sums can be counted.
diagnosis check(serving_problem const& problem);

// A device and a width of its own for each layer.
diagnosis check(serving_problem const& problem, serving_plan const& plan);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/plan/serving/serving.ipp>
#endif
