// The bound to show for a schedule, whatever kind of bound it has.
#pragma once

#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <optional>

namespace ashlar {

// As schedule_bound() has it; none either for a schedule that is not valid, or that starts before 0,
// from where a makespan is counted.
inline std::optional<bound> known_bound(schedule const& s) {
  if (!check(s).ok()) return std::nullopt;
  for (auto const& order : s.order)
    if (!order.empty() && order[0].start < 0) return std::nullopt;
  return schedule_bound(s);
}

}  // namespace ashlar
