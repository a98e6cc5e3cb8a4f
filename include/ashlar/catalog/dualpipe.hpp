// DualPipe: two directions, forwards of one overlapped with backwards of the other, weight passes in the
// bubbles. DeepSeek-AI: DeepSeek-V3 Technical Report (2024), section 3.2.1; DualPipeV, its fold onto
// half the devices: DeepSeek-AI, DualPipe (2025), after Qi, Wan, Huang, Lin (2025).
//
// Not the squeeze of a repeated block: the steady state repeats one pair per direction, but the
// cool-down turns backwards of both directions into split ones, at a place that depends on the device,
// and keeps their weight passes in a queue. So the orders are written down, phase by phase.
#pragma once

#include <ashlar/catalog/shape.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar::catalog {

// One device's order. Its two directions are 0, in which it is in the first half of the stages, and 1.
class dualpipe_order {
 public:
  // What a direction is on this device: its stage, and the first of its micro-batches.
  struct direction {
    int stage = 0;
    int first = 0;
    int forwards = 0;
    int backwards = 0;
  };

  // The two directions, seen from the device that it writes for.
  constexpr dualpipe_order(direction zero, direction one) : zero_(zero), one_(one) {}

  // `h`: how many devices lie between this one and the nearer end; `half`: devices of half a way;
  // `count`: micro-batches of a direction, 2 * half at least.
  constexpr std::vector<time_slot> write(int h, int half, int count) {
    int const apart = half - h - 1;  // devices between this one and the middle
    order_.reserve(5 * static_cast<std::size_t>(count));
    for (int i = 0; i < 2 * apart; ++i) forward(zero_);
    for (int i = 0; i <= h; ++i) {
      forward(zero_);
      forward(one_);
    }
    for (int i = 0; i < apart; ++i) {
      input(one_);
      weight();
      forward(one_);
    }
    for (int i = 0; i < count - 2 * half + h + 1; ++i) {
      if (i == 0 && apart == 0) {  // in the middle the first backward needs the forward
        forward(zero_);
        backward(one_);
      } else {
        overlapped(zero_, one_);
      }
      overlapped(one_, zero_);
    }
    for (int i = 0; i < apart; ++i) {
      backward(one_);
      overlapped(one_, zero_);
    }
    for (int i = 0; i < 2 * (h + 1); ++i) {
      direction& from = i % 2 == 0 ? one_ : zero_;
      if (i <= h)
        backward(from);
      else
        input(from);
    }
    for (int i = 0; i < apart; ++i) {
      weight();
      input(zero_);
    }
    for (int i = 0; i <= h; ++i) weight();
    return std::move(order_);
  }

 private:
  constexpr void forward(direction& d) { add(pass_kind::forward, d, d.forwards++); }
  constexpr void backward(direction& d) { add(pass_kind::backward, d, d.backwards++); }
  constexpr void input(direction& d) {
    weights_.push_back({pass_kind::backward_weight, d.stage, d.first + d.backwards});
    add(pass_kind::backward_input, d, d.backwards++);
  }
  constexpr void weight() { order_.push_back({weights_[weights_done_++]}); }  // first in, first out
  constexpr void overlapped(direction& ahead, direction& back) {
    forward(ahead);
    order_.back().beside = {pass_kind::backward, back.stage, back.first + back.backwards++};
  }
  constexpr void add(pass_kind kind, direction const& d, int index) {
    order_.push_back({{kind, d.stage, d.first + index}});
  }

  direction zero_, one_;
  std::vector<time_slot> order_;
  dynamic_array<pass> weights_;  // still to do from weights_done_ on
  std::size_t weights_done_ = 0;
};

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
    dualpipe_order::direction const in_down{d, 0}, in_up{up, count};
    dualpipe_order order = d < up ? dualpipe_order(in_down, in_up) : dualpipe_order(in_up, in_down);
    nth(s.order, d) = order.write(d < up ? d : up, p.value / 2, count);
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
    nth(s.order, d) = dualpipe_order({d, 0}, {2 * p.value - 1 - d, 0}).write(d, p.value, m.value);
  return s;
}

}  // namespace ashlar::catalog
