// Orders of passes -> schedule.
#pragma once

#include <ashlar/core/refuse.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/tables.hpp>

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

// Puts pairs into one slot, where only the starts of passes are known: a forward and, behind it, a
// backward (or one of its two passes) of one device that start together, if the first takes time of its
// own. Other passes that start together collide; checks refuse those, and pairs without costs. Linear.
constexpr void find_pairs(schedule& s) {
  bool const has_instants = s.cost.passes.has_instants();
  if (has_instants && !check_form(s).ok()) return;
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    std::vector<time_slot> paired;
    for (time_slot const& t : s.order[d]) {
      if (!paired.empty()) {
        time_slot& before = paired.back();
        if (before.start == t.start && !before.is_pair() && !t.is_pair()
            && before.what.kind == pass_kind::forward && is_backward(t.what.kind)
            && !(has_instants && s.cost.of(before.what, static_cast<int>(d)) == 0)) {
          before.beside = t.what;
          continue;
        }
      }
      paired.push_back(t);
    }
    s.order[d] = std::move(paired);
  }
}

}  // namespace ashlar
