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

}  // namespace ashlar
