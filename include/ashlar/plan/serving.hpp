// Which device serves which layers, in how many bits: the question and the answer.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/plan/two_phase.hpp>
#include <ashlar/plan/variants.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// A layer (or a group of layers that stay together) on a device, in one of its bit widths: what a
// micro-batch of each phase takes, weights with keys and values, and what the loss of quality is worth.
struct layer_variant {
  phase_times times = {};
  byte_count memory = 0;
  tick penalty = 0;

  // What it adds to an objective whatever the others do.
  constexpr variant sum() const {
    return {saturating_sum(times.prefill, times.decode), memory, penalty};
  }

  friend constexpr bool operator==(layer_variant const&, layer_variant const&) = default;
};

struct serving_problem {
  std::vector<std::vector<std::vector<layer_variant>>> variants;  // by device, layer, bit width
  std::vector<byte_count> limit;                                  // by device
  two_phase shape;

  constexpr int device_count() const { return static_cast<int>(limit.size()); }
  constexpr int layer_count() const {
    return variants.empty() ? 0 : static_cast<int>(variants[0].size());
  }
  constexpr std::vector<layer_variant> const& of(int device, int layer) const {
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
  // device is so many bytes short of the rest; with them there is a plan.
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

constexpr std::vector<stage_load> loads_of(serving_problem const& problem, serving_plan const& plan) {
  std::vector<stage_load> loads(problem.limit.size());
  for (std::size_t l = 0; l < plan.device.size(); ++l) {
    layer_variant const& v = nth(problem.of(plan.device[l], static_cast<int>(l)), plan.width[l]);
    stage_load& load = nth(loads, plan.device[l]);
    load.times.prefill += v.times.prefill;
    load.times.decode += v.times.decode;
    load.memory += v.memory;
    load.penalty += v.penalty;
  }
  return loads;
}

// What a plan comes to by the formula.
constexpr tick objective_of(serving_problem const& problem, serving_plan const& plan) {
  std::vector<phase_times> times;
  tick penalties = 0;
  for (stage_load const& load : loads_of(problem, plan)) {
    times.push_back(load.times);
    penalties += load.penalty;
  }
  two_phase_estimate const e = two_phase_formula(problem.shape, times);
  return e.prefill + e.decode + penalties;
}

// Every device has every layer in some width, there is a layer for the first and one for the last
// device, and nothing is negative.
constexpr diagnosis check(serving_problem const& problem) {
  int const p = problem.device_count(), count = problem.layer_count();
  if (p < 1) return {.broken = rule::counts_are_positive, .number = p};
  if (int const least = min_of(p, 2); count < least)
    return {.broken = rule::parameter_is_at_least,
            .number = least,
            .which = parameter::layer_count,
            .given = count};
  for (int number : {problem.shape.prefills, problem.shape.groups})
    if (number < 1) return {.broken = rule::counts_are_positive, .number = number};
  if (problem.shape.tokens < 0)
    return {.broken = rule::counts_are_positive, .number = problem.shape.tokens};
  if (static_cast<int>(problem.variants.size()) != p)
    return wrong_size(table::device_variants, problem.variants.size(), p);
  for (int d = 0; d < p; ++d) {
    auto const& layers = nth(problem.variants, d);
    if (static_cast<int>(layers.size()) != count)
      return {.broken = rule::tables_agree,
              .first = {.device = d},
              .number = static_cast<std::int64_t>(layers.size()),
              .of = table::layers_of_variant,
              .needed = count};
    for (std::vector<layer_variant> const& widths : layers) {
      if (widths.empty()) return {.broken = rule::counts_are_positive, .first = {.device = d}};
      for (layer_variant const& v : widths)
        for (std::int64_t number : {v.times.prefill, v.times.decode, v.memory, v.penalty})
          if (number < 0)
            return {.broken = rule::durations_are_positive, .first = {.device = d}, .number = number};
    }
  }
  return {};
}

}  // namespace ashlar
