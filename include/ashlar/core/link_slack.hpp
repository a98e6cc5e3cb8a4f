// How late the transfers of a link may be: an answer of simulations and schedules.
#pragma once

#include <ashlar/core/ticks.hpp>

namespace ashlar {

// The slack of all transfers from one device to another.
struct link_slack {
  int from = 0;
  int to = 0;
  int transfers = 0;
  tick slack = 0;  // each of them may take this much longer, and the makespan is the same

  friend constexpr bool operator==(link_slack const&, link_slack const&) = default;
};

}  // namespace ashlar
