// Work that starts before its inputs are there.
#pragma once

#include <ashlar/core/refuse.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Every part that starts before one of its inputs: for each, what check() would say of it. Throws
// violation for what is wrong besides times. Linear.
constexpr std::vector<diagnosis> early_work(schedule const& s) {
  pass_ends ends = no_ends(s);
  if (diagnosis const d = check_passes(s, ends); !d.ok()) refuse(d);
  std::vector<diagnosis> found;
  for (std::size_t device = 0; device < s.order.size(); ++device)
    for (std::size_t i = 0; i < s.order[device].size(); ++i) {
      timed_pass const& t = s.order[device][i];
      if (t.what.kind != pass_kind::work) continue;
      site const where{.device = static_cast<int>(device), .index = static_cast<int>(i), .what = t.what};
      if (diagnosis const d = ends.work.check_inputs(where, t.start, ends.passes); !d.ok())
        found.push_back(d);
    }
  return found;
}

}  // namespace ashlar
