// The bound to show for a schedule, whatever kind of bound it has.
#pragma once

#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <optional>

namespace ashlar {

// As schedule_bound() has it; none either for a schedule that is not valid.
inline std::optional<bound> known_bound(schedule const& s) {
  return check(s).ok() ? schedule_bound(s) : std::nullopt;
}

}  // namespace ashlar
