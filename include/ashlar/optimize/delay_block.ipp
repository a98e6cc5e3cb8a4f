// Definitions of delay_block.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/optimize/delay_block.hpp>

namespace ashlar {

ASHLAR_INLINE tick& delay_block::operator[](std::size_t i) {
  if (i == 0) return period;
  --i;
  for (auto* table : {&forward_hop, &backward_hop, &turn}) {
    if (i < table->size()) return (*table)[i];
    i -= table->size();
  }
  return weight[i];
}

ASHLAR_INLINE tick mean_length(schedule const& s, pass_kind kind, int stage, int device) {
  int const count = s.cost.passes.period();
  tick sum = 0;
  for (int k = 0; k < count; ++k) sum += s.cost.of({kind, stage, k}, device);
  return (sum + count - 1) / count;
}

ASHLAR_INLINE dynamic_array<std::size_t> legs_of(placement const& where) {
  dynamic_array<std::size_t> leg;
  std::vector<int> seen;
  for (int stage = 0; stage < where.stage_count(); ++stage) {
    auto const device = static_cast<std::size_t>(where.device_of(0, stage));
    if (stage == 0 || seen[device] == 1) {
      leg.push_back(stage == 0 ? 0 : leg.back() + 1);
      seen.assign(static_cast<std::size_t>(where.device_count()), 0);
    } else {
      leg.push_back(leg.back());
    }
    seen[device] = 1;
  }
  return leg;
}

ASHLAR_INLINE offsets_of_stages::offsets_of_stages(delay_block const& b,
                                                   dynamic_array<std::size_t> const& leg,
                                                   schedule const& s, bool fused)
    : forward(leg.size(), 0), backward(forward), weight(forward) {
  std::size_t const count = leg.size(), legs = b.weight.size();
  auto const device = [&](std::size_t i) { return s.where.device_of(0, static_cast<int>(i)); };
  auto const transfer = [&](std::size_t from, std::size_t to) {
    return s.cost.transfer(device(from), device(to));
  };
  auto const length = [&](pass_kind kind, std::size_t i) {
    return mean_length(s, kind, static_cast<int>(i), device(i));
  };
  tick now = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0)
      now += transfer(i - 1, i) + (leg[i] == leg[i - 1] ? b.forward_hop[leg[i]] : b.turn[leg[i - 1]]);
    forward[i] = now;
    now += length(pass_kind::forward, i);
  }
  now += b.turn[legs - 1];
  for (std::size_t i = count; i-- > 0;) {
    if (i + 1 < count)
      now += transfer(i + 1, i)
             + (leg[i] == leg[i + 1] ? b.backward_hop[leg[i]] : b.turn[2 * legs - 1 - leg[i + 1]]);
    backward[i] = now;
    now += length(fused ? pass_kind::backward : pass_kind::backward_input, i);
    weight[i] = now + b.weight[leg[i]];
  }
}

ASHLAR_INLINE tick offsets_of_stages::of(pass what) const {
  auto const stage = static_cast<std::size_t>(what.stage);
  if (what.kind == pass_kind::forward) return forward[stage];
  if (what.kind == pass_kind::recompute) return backward[stage] - 1;
  return what.kind == pass_kind::backward_weight ? weight[stage] : backward[stage];
}

ASHLAR_INLINE int turn_of(pass what, int sequence_chunks) {
  if (what.kind == pass_kind::forward) return what.micro_batch;
  int const chunk = what.micro_batch % sequence_chunks;
  return what.micro_batch + 2 * (sequence_chunks - 1 - chunk);
}

ASHLAR_INLINE delay_block one_at_a_time(schedule const& s) {
  dynamic_array<std::size_t> const leg = legs_of(s.where);
  delay_block b(static_cast<int>(leg.back()) + 1, 1);
  offsets_of_stages const at(b, leg, s, false);
  for (int stage = 0; stage < s.stage_count(); ++stage)
    b.period = max_of(
        b.period, nth(at.weight, stage)
                      + mean_length(s, pass_kind::backward_weight, stage, s.where.device_of(0, stage)));
  return b;
}

ASHLAR_INLINE precedence_graph::device_orders orders_of_blocks(std::vector<delay_block> const& tracks,
                                                               schedule const& s,
                                                               precedence_graph const& passes) {
  bool fused = false;
  for (pass what : passes.what) fused = fused || what.kind == pass_kind::backward;
  dynamic_array<std::size_t> const leg = legs_of(s.where);
  std::vector<offsets_of_stages> offsets;
  for (delay_block const& b : tracks) offsets.push_back({b, leg, s, fused});

  precedence_graph::device_orders orders(passes.orders.size());
  dynamic_array<keyed_index> by_start;
  for (std::size_t device = 0; device < orders.size(); ++device) {
    by_start.clear();
    for (int x : passes.orders[device]) {
      pass const what = nth(passes.what, x);
      auto const track = static_cast<std::size_t>(what.micro_batch) % tracks.size();
      tick const turn = turn_of(what, s.graph.sequence_chunks());
      by_start.push_back(
          {offsets[track].of(what) + turn * tracks[0].period, static_cast<std::size_t>(x)});
    }
    sort_by_key(by_start);
    for (keyed_index const& k : by_start) orders[device].push_back(static_cast<int>(k.index));
  }
  return orders;
}

ASHLAR_INLINE tick work_of_sequence(schedule const& s) {
  // Takes the mean of those that differ.
  int const q = s.graph.sequence_chunks(),
            count = s.cost.passes.micro_batches() == 0 ? q : s.micro_batch_count();
  tick most = 0;
  for (int d = 0; d < s.device_count(); ++d) {
    tick work = 0;
    for (timed_pass const t : each_pass(nth(s.order, d)))
      work += t.what.micro_batch < count ? s.cost.of(t.what, d) : 0;
    most = max_of(most, work);
  }
  tick const sequences = count / q;
  return (most + sequences - 1) / sequences;
}

}  // namespace ashlar
