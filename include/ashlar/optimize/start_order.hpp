// From target starts of passes to a plan.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/optimize/precedence_graph.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// Each device's passes by target start; those with the same in the order that they have. `targets`: by
// pass. O(n log n).
constexpr precedence_graph::plan in_start_order(precedence_graph::plan const& orders,
                                                std::vector<tick> const& targets) {
  precedence_graph::plan plan(orders.size());
  dynamic_array<keyed_index> sorted;  // places in the order
  for (std::size_t d = 0; d < plan.size(); ++d) {
    sorted.clear();
    for (std::size_t i = 0; i < orders[d].size(); ++i) sorted.push_back({nth(targets, orders[d][i]), i});
    sort_by_key(sorted);
    for (keyed_index const& k : sorted) plan[d].push_back(orders[d][k.index]);
  }
  return plan;
}

}  // namespace ashlar
