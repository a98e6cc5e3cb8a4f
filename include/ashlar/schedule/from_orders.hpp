// Orders of passes -> schedule.
#pragma once

#include <ashlar/core/refuse.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// A schedule of which only the orders are known, as an import gives it. All starts are 0 until it is
// squeezed. Its stages form a chain. Throws violation{rule::tables_agree} unless `orders` has one list
// for each device.
constexpr schedule schedule_from_orders(placement where, std::vector<int> route, costs cost,
                                        std::vector<std::vector<pass>> const& orders) {
  if (static_cast<int>(orders.size()) != where.device_count())
    refuse(wrong_size(table::device_orders, orders.size(), where.device_count()));
  schedule s = schedule_without_passes(std::move(where), std::move(route), std::move(cost));
  for (std::size_t d = 0; d < orders.size(); ++d)
    for (pass const what : orders[d]) s.order[d].push_back({what, 0});
  return s;
}

// Says which passes of a device run as pairs, where only their starts are known: a forward and a
// backward that start together. Nothing else can.
constexpr void find_pairs(std::vector<timed_pass>& order) {
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i - 1].start == order[i].start) {
      order[i - 1].overlaps = order[i].what.stage;
      order[i].overlaps = order[i - 1].what.stage;
    }
}

}  // namespace ashlar
