// The ZBV schedule as its published rule has it, pass by pass: independent of the catalog.
#pragma once

#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstddef>
#include <vector>

namespace shapes {

// Two chunks a device, V-shaped, split backward: what PyTorch's ScheduleZBVZeroBubble writes (Qi et al.,
// Zero Bubble Pipeline Parallelism, 2023, appendix). Device d runs 2 (p - d) - 1 forwards of its first
// chunk, d pairs of forwards, p - d times the second chunk's forward and backward, and then both chunks
// in full by turns; at the end input passes go ahead of the weight passes. m is at least 2 p - 1.
inline ashlar::schedule zbv_of_units(int p, int m, ashlar::costs const& cost) {
  using namespace ashlar;
  std::vector<std::vector<pass>> orders(static_cast<std::size_t>(p));
  for (int d = 0; d < p; ++d) {
    int const stage[] = {d, 2 * p - 1 - d};
    int done[2][3] = {};
    auto const run = [&](int chunk, pass_kind kind, int which) {
      orders[static_cast<std::size_t>(d)].push_back({kind, stage[chunk], done[chunk][which]++});
    };
    auto const forward = [&](int chunk) { run(chunk, pass_kind::forward, 0); };
    auto const input = [&](int chunk) { run(chunk, pass_kind::backward_input, 1); };
    auto const weight = [&](int chunk) { run(chunk, pass_kind::backward_weight, 2); };
    auto const backward = [&](int chunk) { input(chunk), weight(chunk); };

    for (int i = 0; i < 2 * (p - d) - 1; ++i) forward(0);
    for (int i = 0; i < d; ++i) forward(1), forward(0);
    for (int i = 0; i < p - d; ++i) forward(1), backward(1);
    while (done[0][0] < m || done[1][0] < m) {
      if (done[0][0] < m) forward(0);
      backward(0);
      forward(1);
      backward(1);
    }
    for (int i = 0; i < d; ++i) input(0), input(1);
    for (int i = 0; i < p - d; ++i) input(0), weight(0);
    for (int chunk : {1, 0})
      while (done[chunk][2] < m) weight(chunk);
  }
  return squeeze(schedule_from_orders(v_shape(devices{p}),
                                      std::vector<int>(static_cast<std::size_t>(m), 0), cost, orders));
}

}  // namespace shapes
