// Definitions of layout_freedoms.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/search/braid.hpp>
#include <ashlar/search/in_order.hpp>
#include <ashlar/search/layout_freedoms.hpp>
#include <ashlar/search/micro_batch_order.hpp>

#include <utility>

namespace ashlar {

ASHLAR_INLINE std::vector<layout_choice> with_orders(std::vector<layout_choice> const& plain,
                                                     objective aim) {
  std::vector<layout_choice> all;
  for (layout_choice const& c : plain) {
    all.push_back(c);
    layout_choice other = c;
    other.micro_batches =
        order_for(c.problem, {.aim = aim == objective::span ? aim : objective::makespan});
    if (other.micro_batches.empty()) continue;
    other.problem = in_order(c.problem, other.micro_batches);
    all.push_back(std::move(other));
  }
  return all;
}

ASHLAR_INLINE void braid(searched_layout& found, std::int64_t evaluations) {
  search_problem const& problem = found.choice.problem;
  if (found.aim != objective::span) found.aim = objective::makespan;
  braided_schedule made =
      braid(problem, found.result.best, found.aim, saturating_product(evaluations, pass_count(problem)));
  found.result.best = std::move(made.best);
  found.result.reached = made.reached;
  found.result.passes += made.passes;
  found.result.least = braided_bound(problem);
}

}  // namespace ashlar
