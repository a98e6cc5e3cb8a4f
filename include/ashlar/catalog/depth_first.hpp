// Depth-first, Megatron's interleaved 1F1B: on the looped placement a group of micro-batches goes
// through all chunks before the next group begins; and its zero-bubble form with a split backward.
// Narayanan et al.: Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM
// (2021), section 2.2.2; Lamy-Poirier: Breadth-First Pipeline Parallelism (2022), which named it.
#pragma once

#include <ashlar/block/algebra.hpp>
#include <ashlar/catalog/one_f_one_b.hpp>
#include <ashlar/catalog/orders.hpp>
#include <ashlar/catalog/shape.hpp>
#include <ashlar/catalog/zb_h1.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace ashlar::catalog {

// Micro-batches that take turns on the chunks of a device. Unless told: as few as there may be if
// all groups fill the devices, and but for the last are alike. Without transfers no other size is
// faster.
constexpr int group_of(shape const& s) {
  if (s.group != 0 || s.p.value < 1) return s.group;
  tick const p = s.p.value, m = s.m.value;
  for (tick groups = m / p; groups > 1; --groups)
    if (tick const size = (m + groups - 1) / groups; m - (groups - 1) * size >= p)
      return static_cast<int>(size);
  return static_cast<int>(max_of(p, m));
}

// A group has to fill the devices, lest a chunk waits for the one before; more than there are
// micro-batches makes no sense.
constexpr diagnosis check_groups(shape const& s) {
  if (diagnosis const d = check_chunks(s); !d.ok()) return d;
  if (s.group == 0)
    return check_chunks({.p = s.p, .m = micro_batches{max_of(s.p.value, s.m.value)}, .v = s.v});
  return all_of({at_least(parameter::group_size, s.group, s.p.value),
                 at_most(parameter::group_size, s.group, s.m.value)});
}

// The block of a group: 1F1B over v g virtual micro-batches, number c g + k (chunk c of micro-batch k)
// forward and (v - 1 - c) g + k backward, three ticks apart. `forward_hop` ticks a device down,
// `back(d)` the offset of the first backward on device d.
template <class Back>
constexpr block interleaved(devices p, chunks v, int group, tick forward_hop,
                            std::initializer_list<pass_kind> backwards, Back back) {
  block b{.graph = chain(stages{p.value * v.value}),
          .where = looped(p, v),
          .route = std::vector<int>(static_cast<std::size_t>(group), 0),
          .cost = {},
          .interval = 3 * tick{group} * v.value,
          .cells = {}};
  b.cells.reserve(static_cast<std::size_t>(b.where.stage_count()) * b.route.size()
                  * (1 + backwards.size()));
  for (int stage = 0; stage < p.value * v.value; ++stage)
    for (int k = 0; k < group; ++k) {
      int const c = stage / p.value, d = stage % p.value;
      auto const number = [=](int turn) { return tick{turn} * group + k; };
      b.cells.push_back({{pass_kind::forward, stage, k}, 3 * number(c) + forward_hop * d});
      for (pass_kind kind : backwards)
        b.cells.push_back({{kind, stage, k}, 3 * number(v.value - 1 - c) + back(kind, d)});
    }
  return b;
}

// A whole interval of three ticks per hop in both directions: warm-up 2(p - 1 - d) + (v - 1) g. With one
// chunk the published order is that of 1F1B, which needs half as much of it.
constexpr block depth_first(devices p, chunks v, int group) {
  must_be(check_chunks({.p = p, .m = micro_batches{group}, .v = v}));
  if (v.value == 1) return one_f_one_b(p);
  tick const first = 3 * tick{v.value - 1} * group + 3 * tick{p.value - 1} + 1;
  return interleaved(p, v, group, 3, {pass_kind::backward},
                     [=](pass_kind, int d) { return first + 3 * tick{p.value - 1 - d}; });
}

// ZB-H1's block in the place of 1F1B's: warm-up p - 1 - d + (v - 1) g, and a device has its weight pass
// d turns after the input pass, so that all hold the same and the bubble shrinks to (p - 1)(f + i - w).
// With one chunk it is ZB-H1. Qi et al., Zero Bubble Pipeline Parallelism (2023); the order is that of
// PyTorch's ScheduleInterleavedZeroBubble.
constexpr block interleaved_zb(devices p, chunks v, int group) {
  must_be(check_chunks({.p = p, .m = micro_batches{group}, .v = v}));
  if (v.value == 1) return zb_h1(p);
  tick const before = 3 * tick{v.value - 1} * group;
  return interleaved(p, v, group, 1, {pass_kind::backward_input, pass_kind::backward_weight},
                     [=](pass_kind kind, int d) {
                       return before
                              + (kind == pass_kind::backward_input ? p.value + 2 * tick{p.value - 1 - d}
                                                                   : 3 * tick{p.value} - 1 + d);
                     });
}

// The forwards of a device before its first backward: (v - 1) g, `each_hop` for each device behind it,
// and `more`.
struct interleaved_warm_up {
  int each_hop = 2;
  int more = 0;
};
constexpr std::size_t warm_up_of(shape const& s, int d, interleaved_warm_up w) {
  tick const group = min_of(group_of(s), s.m.value);
  return static_cast<std::size_t>((s.v.value - 1) * group + tick{w.each_hop} * (s.p.value - 1 - d)
                                  + w.more);
}

// Forwards and backwards of groups in strict turns behind the warm-up, on the looped placement; a last
// group may be smaller. All starts are 0.
constexpr schedule in_strict_turns(shape const& s, costs const& cost, pass_kind backward,
                                   interleaved_warm_up w) {
  int const p = s.p.value, v = s.v.value, m = s.m.value, group = min_of(group_of(s), m);
  schedule turns =
      schedule_without_passes(looped(s.p, s.v), std::vector<int>(static_cast<std::size_t>(m), 0), cost);
  for (int d = 0; d < p; ++d) {
    dynamic_array<pass> forwards, backwards;
    for (int first = 0; first < m; first += group)
      for (int c = 0; c < v; ++c)
        for (int k = first; k < m && k - first < group; ++k) {
          forwards.push_back({pass_kind::forward, c * p + d, k});
          backwards.push_back({backward, (v - 1 - c) * p + d, k});
        }
    nth(turns.order, d) =
        one_forward_one_backward(forwards, backwards, warm_up_of(s, d, w), static_cast<std::size_t>(d));
  }
  return turns;
}

// The block repeated; `warm_up_hop` is how many forwards more a device has in its warm-up than the next.
// Where groups do not divide the micro-batches, the last one is smaller and forwards and backwards still
// take strict turns: no repetition, for those that the last block lacks would leave gaps in the turns. A
// last group of fewer than p (which Megatron refuses) can make devices wait for each other in a cycle;
// then the repetition with its gaps is taken, which never does.
constexpr schedule in_groups(block const& b, shape const& s, int warm_up_hop) {
  int const m = s.m.value, group = min_of(group_of(s), m);
  if (m % b.micro_batch_count() == 0) return repeat(b, s.m);
  schedule turns = in_strict_turns(s, b.cost, b.cells[1].what.kind, {.each_hop = warm_up_hop});
  if (order_walk(turns).run().ok()) return turns;
  return repeat(b, micro_batches{m - m % group + group}) | take(s.m);
}

}  // namespace ashlar::catalog
