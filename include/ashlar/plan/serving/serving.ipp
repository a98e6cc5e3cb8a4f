// Definitions of serving.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/plan/serving/serving.hpp>

#include <cstddef>

namespace ashlar {

ASHLAR_INLINE std::vector<stage_load> loads_of(serving_problem const& problem,
                                               serving_plan const& plan) {
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

ASHLAR_INLINE tick objective_of(serving_problem const& problem, serving_plan const& plan) {
  std::vector<phase_times> times;
  tick penalties = 0;
  for (stage_load const& load : loads_of(problem, plan)) {
    times.push_back(load.times);
    penalties += load.penalty;
  }
  two_phase_estimate const e = two_phase_formula(problem.shape, times);
  return e.prefill + e.decode + penalties;
}

ASHLAR_INLINE diagnosis check(serving_problem const& problem) {
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
            return {.broken = rule::no_duration_is_negative, .first = {.device = d}, .number = number};
    }
  }
  return {};
}

}  // namespace ashlar
