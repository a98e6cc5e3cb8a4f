// Plans for serving, and micro-batches of kernels in parts.
#pragma once

#include "doors/knock.hpp"
#include <ashlar/plan/parts/divide.hpp>
#include <ashlar/plan/serving/plan_serving.hpp>
#include <ashlar/plan/serving/two_phase.hpp>

#include <cstddef>
#include <vector>

namespace doors {

inline two_phase some_phases(dice& d) {
  two_phase shape{d.between(1, 3), d.between(1, 3), d.between(1, 3)};
  int two_phase::*const counts[] = {&two_phase::prefills, &two_phase::groups, &two_phase::tokens};
  if (d.percent(20)) {
    int& one = shape.*counts[d.between(0, 2)];
    one = extreme(d, one);
  }
  return shape;
}

inline void of_servings(dice& d) {
  serving_problem problem{{}, {}, some_phases(d)};
  auto const layers = static_cast<std::size_t>(d.between(0, 4));
  for (int device = d.between(0, 3); device > 0; --device) {
    problem.limit.push_back(d.between(0, 20));
    problem.variants.emplace_back(d.percent(95) ? layers : layers + 1);
    for (auto& widths : problem.variants.back()) {
      for (int width = d.percent(95) ? 2 : 0; width > 0; --width)
        widths.push_back({{d.between(0, 4), d.between(0, 4)}, d.between(0, 6), d.between(0, 3)});
      if (d.percent(10)) put(d, widths, &layer_variant::memory);
      if (d.percent(10)) put(d, widths, &layer_variant::penalty);
      if (!widths.empty() && d.percent(10)) one_of(d, widths).times.decode = extreme(d, tick{2});
    }
  }
  if (d.percent(20)) change_list(d, problem.limit);
  knock([&] {
    serving_plan plan = plan_serving(problem);
    if (!plan.device.empty()) {
      demand(objective_of(problem, plan) == plan.objective);
      std::vector<stage_load> const loads = loads_of(problem, plan);
      for (std::size_t i = 0; i < loads.size(); ++i) demand(loads[i].memory <= problem.limit[i]);
    }
    for (int changes = d.between(0, 2); changes > 0; --changes)
      change_list(d, d.percent(50) ? plan.device : plan.width);
    loads_of(problem, plan);
    objective_of(problem, plan);
  });
  std::vector<phase_times> times(static_cast<std::size_t>(d.between(0, 3)), {2, 1});
  if (d.percent(30)) put(d, times, &phase_times::prefill);
  if (d.percent(30)) put(d, times, &phase_times::decode);
  tick const transfer = d.percent(70) ? d.between(0, 3) : extreme(d, tick{1});
  knock([&] { demand(check(two_phase_schedule(problem.shape, times, transfer)).ok()); });
  knock([&] { two_phase_formula(problem.shape, times); });

  std::vector<division_option> options;
  for (int i = d.between(0, 4); i > 0; --i)
    options.push_back({d.between(0, 5), {d.between(0, 9), d.between(0, 9), d.between(0, 1)}});
  if (d.percent(20)) put(d, options, &division_option::samples);
  if (!options.empty() && d.percent(20)) one_of(d, options).what.time = extreme(d, tick{1});
  if (!options.empty() && d.percent(20)) one_of(d, options).what.memory = extreme(d, byte_count{1});
  int const n = d.percent(80) ? d.between(0, 12) : extreme(d, 4);
  byte_count const room = d.percent(80) ? d.between(0, 12) : extreme(d, byte_count{4});
  knock([&] {
    for (division const& made : divide(n, options, any_of<part_sizes>(d, 2), room))
      demand(made.what.memory <= room);
  });
}

}  // namespace doors
