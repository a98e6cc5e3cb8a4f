// Definitions of start_behind.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/optimize/start_behind.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/schedule/tables.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

ASHLAR_INLINE schedule start_behind(schedule next, schedule const& before) {
  must_have_form(before);
  if (next.device_count() != before.device_count())
    refuse(wrong_size(table::devices_of_placement, next.device_count(), before.device_count()));
  next = squeeze(std::move(next));
  std::vector<tick> released;
  for (int d = 0; d < before.device_count(); ++d) {
    released.push_back(0);
    for (time_slot const& t : before.order[static_cast<std::size_t>(d)])
      released.back() = max_of(released.back(), before.end_of(t, d));
  }
  list_scheduler scheduler(next, {.memory = {}, .budget = {max_tick}});
  list_scheduler::solution t;
  if (!scheduler.run(scheduler.passes().orders, {}, released, t))
    refuse({.broken = rule::order_has_no_cycle});
  return timed(std::move(next), scheduler.passes(), t);
}

}  // namespace ashlar
