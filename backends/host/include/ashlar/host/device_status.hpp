// The state of a device, for the message about a step in which nothing moves any more.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/host/collectives.hpp>
#include <ashlar/host/progress.hpp>
#include <ashlar/run/device_plan.hpp>
#include <ashlar/run/device_status.hpp>
#include <ashlar/run/members.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

namespace ashlar::host {

// The status of a device that has not moved for `still`.
inline device_status status_of(program_view const& p, int rank, device_plan const& plan,
                               progress const& mine, collectives& all, std::int64_t step,
                               std::chrono::milliseconds still) {
  device_status s{.index = mine.working, .step = step, .for_ms = still.count()};
  if (s.index >= 0) {
    s.what = activity::computes;
    return s;
  }
  if (mine.is_over()) return s;
  s.what = activity::waits;
  s.index = mine.waits_for();
  if (s.index < 0) return s;
  device_plan::step const& waiting = plan.at(s.index);
  if (!run_detail::meets_others(waiting.what)) {
    s.missing = number_of(p, rank, waiting.transfer().peer);
    s.missing_count = 1;
    return s;
  }
  std::vector<int> const members = members_of(p, waiting.collective().group, rank);
  std::vector<int> const missing = all.missing(waiting.collective(), {nullptr, s.index});
  s.missing_count = static_cast<int>(missing.size());
  if (!missing.empty()) s.missing = nth(members, missing.front());
  return s;
}

}  // namespace ashlar::host
