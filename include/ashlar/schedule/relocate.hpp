// A schedule on another placement.
#pragma once

#include <ashlar/core/cost_sizes.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// The same passes on other devices. Each device takes the passes that fall to it in the order of their
// starts, and the result is squeezed. Micro-batches (those that belong together) take the routes in
// turn; pairs are undone. As passes take time, what a pass needs starts before it, so any placement of
// the stages will do. O(n log n). Throws violation: rule::tables_agree for another number of stages,
// speeds of another number of devices, or work of other systems, which has devices of its own; and as
// squeeze does.
constexpr schedule relocate(schedule s, placement where) {
  if (where.stage_count() != s.stage_count())
    refuse(wrong_size(table::stages_of_placement, where.stage_count(), s.stage_count()));
  if (diagnosis const d =
          check_sizes(s.cost, where.stage_count(), where.device_count(), s.graph.sequence_chunks());
      !d.ok())
    refuse(d);
  if (!s.work.view().empty()) refuse({.broken = rule::tables_agree, .number = where.stage_count()});
  int const q = s.graph.together(), routes = where.route_count();
  for (std::size_t k = 0; k < s.route.size(); ++k) s.route[k] = static_cast<int>(k) / q % routes;
  std::vector<std::vector<timed_pass>> orders(static_cast<std::size_t>(where.device_count()));
  for (auto const& order : s.order)
    for (timed_pass t : order) {
      t.overlaps = timed_pass{}.overlaps;
      int const route = nth(s.route, t.what.micro_batch);
      nth(orders, where.device_of(route, t.what.stage)).push_back(t);
    }
  for (auto& order : orders)
    merge_sort(order, [](timed_pass const& a, timed_pass const& b) { return a.start < b.start; });
  s.order = std::move(orders);
  s.where = std::move(where);
  return squeeze(std::move(s));
}

}  // namespace ashlar
