// Searches for schedules.
#pragma once

#include "doors/limits.hpp"
#include <ashlar/optimize/improve.hpp>
#include <ashlar/search/braid.hpp>
#include <ashlar/search/search.hpp>

#include <cstdint>

namespace doors {

inline void of_searches(dice& d) {
  schedule s = catalog::find(d.percent(50) ? "1f1b" : "zb-h1")->make({devices{2}, micro_batches{3}});
  memory_limit const limit = some_limit(d);
  for (int changes = d.between(0, 2); changes > 0; --changes) change(d, s);
  search_budget const budget{.passes = d.between(-1, 300),
                             .seed = static_cast<std::uint64_t>(d.between(0, 9)),
                             .aim = static_cast<objective>(d.between(0, 3)),
                             .goal = extreme(d, tick{20})};
  knock([&] { is_within(s, limit); });
  knock([&] { demand(is_within(improve({s}, limit, budget), limit)); });
  search_problem problem{.where = random_placement(d, devices{d.between(1, 3)}, stages{d.between(1, 4)}),
                         .m = micro_batches{d.between(-1, 3)},
                         .cost = {},
                         .limit = limit,
                         .sequence_chunks = d.percent(80) ? 1 : d.between(-1, 3)};
  for (int changes = d.between(0, 2); changes > 0; --changes) change_cost(d, problem.cost);
  knock([&] { pass_count(problem); });
  knock([&] {
    braided_schedule const b = braid(problem, s, objective::makespan, budget.passes);
    demand(b.reached <= makespan(s));
  });
  knock([&] {
    search_result const r = search(problem, {.passes = budget.passes, .aim = budget.aim});
    demand(check(r.best).ok() && is_within(r.best, limit) && r.reached >= r.bound_of(budget.aim));
  });
}

}  // namespace doors
