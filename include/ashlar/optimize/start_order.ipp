// Definitions of start_order.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/optimize/start_order.hpp>

#include <cstddef>

namespace ashlar {

ASHLAR_INLINE precedence_graph::device_orders in_start_order(
    precedence_graph::device_orders const& orders, std::vector<tick> const& targets) {
  precedence_graph::device_orders made(orders.size());
  dynamic_array<keyed_index> sorted;  // places in the order
  for (std::size_t d = 0; d < made.size(); ++d) {
    sorted.clear();
    for (std::size_t i = 0; i < orders[d].size(); ++i) sorted.push_back({nth(targets, orders[d][i]), i});
    sort_by_key(sorted);
    for (keyed_index const& k : sorted) made[d].push_back(orders[d][k.index]);
  }
  return made;
}

}  // namespace ashlar
