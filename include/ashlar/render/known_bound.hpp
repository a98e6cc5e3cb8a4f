// The bound to show for any schedule.
#pragma once

#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <optional>

namespace ashlar {

// Returns schedule_bound(); none for a schedule that is invalid, or that starts before 0, where a
// makespan begins.
inline std::optional<bound> known_bound(schedule const& s) {
  if (!check(s).ok()) return std::nullopt;
  for (auto const& order : s.order)
    if (!order.empty() && order[0].start < 0) return std::nullopt;
  return schedule_bound(s);
}

}  // namespace ashlar
