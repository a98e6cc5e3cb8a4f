// Which passes run as pairs, where only their starts are known.
#pragma once

#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

namespace tool {

// A forward and a backward of one device that start together are a pair: nothing else can.
inline void find_pairs(std::vector<ashlar::timed_pass>& order) {
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i - 1].start == order[i].start) {
      order[i - 1].overlaps = order[i].what.stage;
      order[i].overlaps = order[i - 1].what.stage;
    }
}

}  // namespace tool
