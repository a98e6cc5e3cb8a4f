// Definitions of early_work.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/fill/early_work.hpp>
#include <ashlar/schedule/check.hpp>

#include <cstddef>

namespace ashlar {

ASHLAR_INLINE std::vector<diagnosis> early_work(schedule const& s) {
  pass_ends ends = no_ends(s);
  if (diagnosis const d = check_passes(s, ends); !d.ok()) refuse(d);
  std::vector<diagnosis> found;
  for (std::size_t device = 0; device < s.order.size(); ++device)
    for (std::size_t i = 0; i < s.order[device].size(); ++i) {
      time_slot const& t = s.order[device][i];
      if (!is_part(t.what)) continue;
      site const where{.device = static_cast<int>(device), .index = static_cast<int>(i), .what = t.what};
      if (diagnosis const d = ends.work.check_inputs(where, t.start, ends.passes); !d.ok())
        found.push_back(d);
    }
  return found;
}

}  // namespace ashlar
