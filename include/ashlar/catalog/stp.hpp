// STP: on a V, forwards run with backwards and with weight passes, so that the exchanges of tensor
// parallelism go on beside compute. Qi, Peng, Zhang, Zhu, Li, Ma: Synergistic Tensor and Pipeline
// Parallelism (2025), arXiv 2510.27257; the order is that of the authors' program.
//
// Not the squeeze of a repeated block: what a forward runs with, and whether that backward is fused,
// depends on the device and the phase. So the orders are written down, phase by phase.
#pragma once

#include <ashlar/catalog/shape.hpp>
#include <ashlar/catalog/two_way_order.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar::catalog {

// The order of device `d` of `p`, for `m` micro-batches. The authors have none of fewer than 3p - 1: it
// is that of 3p - 1 then, without the others. Two forwards that their program names at once run one
// after the other there, too.
constexpr std::vector<time_slot> stp_order(int d, int p, int m) {
  way down{d}, up{2 * p - 1 - d};
  two_way_order order(m);
  int const after = p - 1 - d;  // devices behind this one
  for (int i = 0; i < 2 * after; ++i) order.forward(down);
  for (int i = 0; i <= d; ++i) {
    order.forward(down);
    order.forward(up);
  }
  for (int i = 0; i <= d; ++i) order.forward(down);
  for (int i = 0; i < after; ++i) {
    order.forward_and_input(up, up);
    order.forward_and_weight(down);
  }
  int const fused = 2 * max_of(m - 3 * p + 1, 0) + 1 + d;
  for (int i = 0; i < fused + d; ++i) {
    way& turn = i % 2 == 0 ? up : down;
    if (i < fused)
      order.forward_and_backward(turn, turn);
    else
      order.forward_and_input(turn, turn);
  }
  for (int i = 0; i < 2 * p - 2 - d; ++i) {
    order.backward(down);
    order.forward_and_input(up, up);
  }
  for (int i = 0; i <= d; ++i) {
    order.backward(down);
    order.backward(up);
  }
  for (int i = 0; i < after; ++i) {
    order.backward(down);
    order.weight();
    order.weight();
  }
  order.backward(down);
  for (int i = 0; i < 2 * d; ++i) order.weight();
  return std::move(order).written();
}

// Any number of micro-batches. Orders are those of 3p - 1 at least, so that many may not be too many.
constexpr diagnosis check_stp_shape(shape const& s) {
  constexpr int most = 5461;
  static_assert(3 * most - 1 <= most_runs / most && 3 * (most + 1) - 1 > most_runs / (most + 1));
  return all_of({check_shape(s), at_most(parameter::device_count, s.p.value, most)});
}

// Starts are 0.
constexpr schedule stp(devices p, micro_batches m) {
  must_be(check_stp_shape({.p = p, .m = m}));
  schedule s =
      schedule_without_passes(v_shape(p), std::vector<int>(static_cast<std::size_t>(m.value), 0));
  for (int d = 0; d < p.value; ++d) nth(s.order, d) = stp_order(d, p.value, m.value);
  return s;
}

}  // namespace ashlar::catalog
