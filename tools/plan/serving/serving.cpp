#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/plan/serving/serving.hpp>

#include <cstddef>

namespace ashlar {

std::vector<stage_load> loads_of(serving_problem const& problem, serving_plan const& plan) {
  if (diagnosis const d = check(problem, plan); !d.ok()) refuse(d);
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

tick objective_of(serving_problem const& problem, serving_plan const& plan) {
  std::vector<phase_times> times;
  tick penalties = 0;
  for (stage_load const& load : loads_of(problem, plan)) {
    times.push_back(load.times);
    penalties += load.penalty;
  }
  two_phase_estimate const e = two_phase_formula(problem.shape, times);
  return e.prefill + e.decode + penalties;
}

diagnosis check(serving_problem const& problem) {
  int const p = problem.device_count(), count = problem.layer_count();
  if (p < 1) return {.broken = rule::counts_are_positive, .number = p};
  if (int const least = min_of(p, 2); count < least)
    return {.broken = rule::parameter_is_at_least,
            .number = least,
            .which = parameter::layer_count,
            .given = count};
  if (diagnosis const d = check(problem.shape); !d.ok()) return d;
  constexpr std::int64_t most_cells = 1 << 26;  // runs of layers on a device
  std::int64_t const most = most_cells / p / max_of(1, count);
  if (diagnosis const d = at_most(parameter::layer_count, count, most); !d.ok()) return d;
  if (static_cast<int>(problem.variants.size()) != p)
    return wrong_size(table::device_variants, problem.variants.size(), p);
  // The most often that the objective counts a time, and a device a size.
  tick const often = saturating_product(
      2 * tick{count}, saturating_sum(saturating_product(problem.shape.groups, problem.shape.tokens),
                                      problem.shape.prefills + tick{1}));
  tick const longest = max_tick / 8 / often, largest = max_tick / 8 / count;
  for (byte_count limit : problem.limit)
    if (limit < 0) return {.broken = rule::sizes_fit, .number = limit};
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
      for (layer_variant const& v : widths) {
        for (tick time : {v.times.prefill, v.times.decode, v.penalty})
          if (time < 0 || time > longest)
            return {.broken = time < 0 ? rule::no_duration_is_negative : rule::ticks_fit,
                    .first = {.device = d},
                    .number = time};
        if (v.memory < 0 || v.memory > largest)
          return {.broken = v.memory < 0 ? rule::no_duration_is_negative : rule::sizes_fit,
                  .first = {.device = d},
                  .number = v.memory};
      }
    }
  }
  return {};
}

diagnosis check(serving_problem const& problem, serving_plan const& plan) {
  if (diagnosis const d = check(problem); !d.ok()) return d;
  for (auto const* list : {&plan.device, &plan.width})
    if (static_cast<int>(list->size()) != problem.layer_count())
      return {.broken = rule::tables_agree, .number = static_cast<std::int64_t>(list->size())};
  for (int layer = 0; layer < problem.layer_count(); ++layer) {
    int const device = nth(plan.device, layer), width = nth(plan.width, layer);
    if (device < 0 || device >= problem.device_count() || width < 0
        || width >= static_cast<int>(problem.of(device, layer).size()))
      return {.broken = rule::every_pass_is_known,
              .first = {.device = device, .what = {.stage = layer}}};
  }
  return {};
}

}  // namespace ashlar
