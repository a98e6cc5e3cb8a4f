// Which passes run as pairs, where only their starts are known.
#pragma once

#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/tables.hpp>

#include <cstddef>
#include <vector>

namespace tool {

// A forward and a backward of one device that start together are a pair, if the first takes time of its
// own: nothing else can. What goes with no costs is for checks to refuse.
inline void find_pairs(ashlar::schedule& s) {
  bool const has_instants = s.cost.passes.has_instants();
  if (has_instants && !check_form(s).ok()) return;
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    std::vector<ashlar::timed_pass>& order = s.order[d];
    for (std::size_t i = 1; i < order.size(); ++i) {
      ashlar::timed_pass &first = order[i - 1], &second = order[i];
      if (first.start != second.start
          || (has_instants && s.cost.of(first.what, static_cast<int>(d)) == 0))
        continue;
      first.overlaps = second.what.stage;
      second.overlaps = first.what.stage;
    }
  }
}

}  // namespace tool
