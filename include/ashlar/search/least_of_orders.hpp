// A lower bound for all orders of the micro-batches of a schedule.
#pragma once

#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/literal_optional.hpp>
#include <ashlar/optimize/budget.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <utility>
#include <vector>

namespace ashlar::search_detail {

// A lower bound for all orders of the micro-batches of a schedule. On one route, the schedule's bound:
// that counts differing micro-batches as the shortest, and the rest as work. On several, the bound of
// micro-batches that are all as the shortest, or the work of a device, each on the route on which it
// gives it least.
inline literal_optional<tick> least_of(schedule const& s, objective aim) {
  auto const of = [&](schedule const& asked) -> literal_optional<tick> {
    auto const least = schedule_bound(asked);
    if (!least) return std::nullopt;
    return aim == objective::span ? least->span : least->makespan;
  };
  bool one_route = true;
  for (int const route : s.route) one_route = one_route && route == s.route[0];
  pass_costs const& c = s.cost.passes;
  if (one_route) return of(s);
  std::vector<stage_cost> shortest;
  for (int stage = 0; stage == 0 || stage < c.stages(); ++stage) {
    shortest.push_back(c.of(stage, 0));
    for (int k = 1; k < c.micro_batches(); ++k) {
      stage_cost const& other = c.of(stage, k);
      for (tick stage_cost::*const time : {&stage_cost::forward, &stage_cost::backward_input,
                                           &stage_cost::backward_weight, &stage_cost::recompute})
        shortest.back().*time = min_of(shortest.back().*time, other.*time);
    }
  }
  schedule alike = s;
  alike.cost.passes = pass_costs(std::move(shortest));
  literal_optional<tick> least = of(alike);
  if (c.overlapped != pass_costs::one_after_the_other || s.mode != execution_mode::training)
    return least;
  tick most = least ? *least : 0;
  for (int d = 0; d < s.device_count(); ++d) {
    tick work = 0;
    for (int k = 0; k < s.micro_batch_count(); ++k) {
      tick own = max_tick;
      for (int const route : s.route) {
        tick sum = 0;
        for (int stage = 0; stage < s.stage_count(); ++stage)
          if (s.where.device_of(route, stage) == d)
            sum = saturating_sum(sum, s.cost.on.time_of(c.of(stage, k), pass_kind::forward, d)
                                          + s.cost.on.time_of(c.of(stage, k), pass_kind::backward, d));
        own = min_of(own, sum);
      }
      work = saturating_sum(work, own);
    }
    most = max_of(most, work);
  }
  return most;
}

}  // namespace ashlar::search_detail
