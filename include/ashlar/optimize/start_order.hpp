// From target starts of passes to an order for each device.
#pragma once

#include <ashlar/core/ticks.hpp>
#include <ashlar/optimize/precedence_graph.hpp>

#include <vector>

namespace ashlar {

// Each device's passes by target start; those with the same in the order that they have. `targets`: by
// pass. O(n log n).
precedence_graph::device_orders in_start_order(precedence_graph::device_orders const& orders,
                                               std::vector<tick> const& targets);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/optimize/start_order.ipp>
#endif
