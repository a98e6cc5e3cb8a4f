// From the starts that passes wish for to a plan.
#pragma once

#include <ashlar/core/sort.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/optimize/precedence_graph.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// Each device's passes by wished start; those with the same wish in the order that they have. `wish`: by
// pass. O(n log n).
constexpr pass_network::plan by_wish(pass_network::plan const& orders, std::vector<tick> const& wish) {
  pass_network::plan plan(orders.size());
  std::vector<keyed_index> sorted;  // places in the order
  for (std::size_t d = 0; d < plan.size(); ++d) {
    sorted.clear();
    for (std::size_t i = 0; i < orders[d].size(); ++i)
      sorted.push_back({wish[static_cast<std::size_t>(orders[d][i])], i});
    sort_by_key(sorted);
    for (keyed_index const& k : sorted) plan[d].push_back(orders[d][k.index]);
  }
  return plan;
}

}  // namespace ashlar
