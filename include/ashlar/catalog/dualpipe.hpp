// DualPipe: two directions, forwards of one overlapped with backwards of the other, weight passes in the
// bubbles. DeepSeek-AI: DeepSeek-V3 Technical Report (2024), section 3.2.1; DualPipeV, its fold onto
// half the devices: DeepSeek-AI, DualPipe (2025), after Qi, Wan, Huang, Lin (2025).
//
// Not the squeeze of a repeated block: the steady state repeats one pair per direction, but the
// cool-down turns backwards of both directions into split ones, at a place that depends on the device,
// and keeps their weight passes in a queue. So the orders are written down, phase by phase.
#pragma once

#include <ashlar/catalog/shape.hpp>
#include <ashlar/catalog/two_way_order.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar::catalog {

// One device's order. Its two ways are 0, in which it is in the first half of the stages, and 1. `h`:
// how many devices lie between it and the nearer end; `half`: devices of half a way; `count`:
// micro-batches of a way, 2 * half at least.
constexpr std::vector<time_slot> dualpipe_order(way zero, way one, int h, int half, int count) {
  two_way_order order(max_of(zero.first, one.first) + count);
  int const apart = half - h - 1;  // devices between this one and the middle
  for (int i = 0; i < 2 * apart; ++i) order.forward(zero);
  for (int i = 0; i <= h; ++i) {
    order.forward(zero);
    order.forward(one);
  }
  for (int i = 0; i < apart; ++i) {
    order.input(one);
    order.weight();
    order.forward(one);
  }
  for (int i = 0; i < count - 2 * half + h + 1; ++i) {
    if (i == 0 && apart == 0) {  // in the middle the first backward needs the forward
      order.forward(zero);
      order.backward(one);
    } else {
      order.forward_and_backward(zero, one);
    }
    order.forward_and_backward(one, zero);
  }
  for (int i = 0; i < apart; ++i) {
    order.backward(one);
    order.forward_and_backward(one, zero);
  }
  for (int i = 0; i < 2 * (h + 1); ++i) {
    way& from = i % 2 == 0 ? one : zero;
    if (i <= h)
      order.backward(from);
    else
      order.input(from);
  }
  for (int i = 0; i < apart; ++i) {
    order.weight();
    order.input(zero);
  }
  for (int i = 0; i <= h; ++i) order.weight();
  return std::move(order).written();
}

// DualPipe is for an even number of devices, and an even number of micro-batches, at least 2p.
constexpr diagnosis check_dualpipe_shape(shape const& s) {
  return all_of({check_shape(s), multiple_of(parameter::device_count, s.p.value, 2),
                 at_least(parameter::micro_batch_count, s.m.value, 2 * tick{s.p.value}),
                 multiple_of(parameter::micro_batch_count, s.m.value, 2)});
}

// DualPipeV is for at least 2p micro-batches.
constexpr diagnosis check_dualpipev_shape(shape const& s) {
  return all_of(
      {check_shape(s), at_least(parameter::micro_batch_count, s.m.value, 2 * tick{s.p.value})});
}

// The first half of the micro-batches goes down the devices, the second up.
constexpr schedule dualpipe(devices p, micro_batches m) {
  must_be(check_dualpipe_shape({.p = p, .m = m}));
  int const count = m.value / 2;
  std::vector<int> route;
  for (int k = 0; k < 2 * count; ++k) route.push_back(k < count ? 0 : 1);
  schedule s = schedule_without_passes(overlay(linear(p), mirror(linear(p))), std::move(route));
  for (int d = 0; d < p.value; ++d) {
    int const up = p.value - 1 - d;
    way const in_down{d, 0}, in_up{up, count};
    if (d < up)  // no ?:, of which g++ 12 frees the values twice in constant expressions
      nth(s.order, d) = dualpipe_order(in_down, in_up, d, p.value / 2, count);
    else
      nth(s.order, d) = dualpipe_order(in_up, in_down, up, p.value / 2, count);
  }
  return s;
}

// The two directions are the two ways of a V: the device of DualPipe on 2p devices that is as far from
// its end, with the micro-batches of both directions taken for the same.
constexpr schedule dualpipev(devices p, micro_batches m) {
  must_be(check_dualpipev_shape({.p = p, .m = m}));
  schedule s =
      schedule_without_passes(v_shape(p), std::vector<int>(static_cast<std::size_t>(m.value), 0));
  for (int d = 0; d < p.value; ++d)
    nth(s.order, d) = dualpipe_order({d, 0}, {2 * p.value - 1 - d, 0}, d, p.value, m.value);
  return s;
}

}  // namespace ashlar::catalog
