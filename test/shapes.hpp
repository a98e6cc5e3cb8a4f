// Blocks and schedules that several tests look at. Standard library only.
#pragma once

#include <ashlar/block/algebra.hpp>
#include <ashlar/catalog/entries.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstddef>

namespace shapes {

using namespace ashlar;

inline constexpr pass_kind F = pass_kind::forward, R = pass_kind::recompute, B = pass_kind::backward,
                           I = pass_kind::backward_input, W = pass_kind::backward_weight;

// 1F1B on p devices, repeated and squeezed.
constexpr schedule one_f_one_b(int p, int m) {
  return catalog::one_f_one_b(devices{p}) | repeat(micro_batches{m}) | squeeze();
}

// V-Half for passes of 10, 13 and 7 ticks.
constexpr schedule uneven_v(int p, int m, tick transfer) {
  return catalog::v_half(devices{p}) | repeat(micro_batches{m})
         | retime(costs(stage_cost{10, 13, 7}, transfer));
}

// A fork that joins again: stage 0 feeds 1 and 2, both feed 3. A stage a device.
constexpr block fork_join() {
  block const b = make_block(linear(devices{4}), {}, 3, {F, B}, [](pass_kind kind, int stage) {
    int const depth = (stage + 1) / 2;  // 0, 1, 1, 2
    return tick{kind == F ? depth : 7 - 2 * depth};
  });
  return with_graph(b, stage_graph(stages{4}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
}

// Two micro-batches, one down the devices and one up, so that each stage has two replicas.
constexpr block two_ways(int p) {
  block const down = spread(catalog::one_f_one_b(devices{p}), 2);
  return overlay(down, mirror(down));
}

// Recomputed, with transfers and uneven passes; each device works 7 ticks of 8.
constexpr block recomputed(int p) {
  return make_block(linear(devices{p}), costs(stage_cost{2, 3, 1, 1}, 1), 8, {F, R, B},
                    [p](pass_kind kind, int stage) {
                      if (kind == F) return tick{3 * stage};
                      tick const back = 3 * p + 5 * (p - 1 - stage);
                      return kind == R ? back - 1 : back;
                    });
}

// The schedule with a `work` pass at the end of every device's order.
constexpr schedule with_work(schedule s) {
  for (std::size_t d = 0; d < s.order.size(); ++d)
    s.order[d].push_back({{pass_kind::work, static_cast<int>(d), 0}, makespan(s)});
  return s;
}

}  // namespace shapes
