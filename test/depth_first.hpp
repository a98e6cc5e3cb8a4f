// The depth-first schedule as its rule has it, pass by pass: independent of the catalog.
#pragma once

#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace shapes {

// v chunks a device, looped. Forwards in groups of p micro-batches, in a group chunk after chunk, in a
// chunk the micro-batches; backwards likewise from the last chunk. Device d first runs
// 2 (p - 1 - d) + (v - 1) p forwards, then by turns (Narayanan et al., 2021). m is a multiple of p.
inline ashlar::schedule depth_first(int p, int v, int m, ashlar::costs const& cost) {
  using namespace ashlar;
  std::vector<std::vector<pass>> orders(static_cast<std::size_t>(p));
  for (int d = 0; d < p; ++d) {
    std::vector<pass> forwards, backwards;
    for (int group = 0; group < m; group += p)
      for (int chunk = 0; chunk < v; ++chunk)
        for (int k = group; k < group + p; ++k) {
          forwards.push_back({pass_kind::forward, chunk * p + d, k});
          backwards.push_back({pass_kind::backward, (v - 1 - chunk) * p + d, k});
        }
    std::vector<pass>& order = orders[static_cast<std::size_t>(d)];
    auto const first = static_cast<std::size_t>(std::min(m * v, 2 * (p - 1 - d) + (v - 1) * p));
    for (std::size_t i = 0; i < forwards.size() + first; ++i) {
      if (i < forwards.size()) order.push_back(forwards[i]);
      if (i >= first) order.push_back(backwards[i - first]);
    }
  }
  return squeeze(schedule_from_orders(looped(devices{p}, chunks{v}),
                                      std::vector<int>(static_cast<std::size_t>(m), 0), cost, orders));
}

}  // namespace shapes
