// A building block with offsets of any length, as a plan for the list scheduler: it may collide, because
// only its order counts. Qi et al., Controllable Memory (2024), section 4, search offsets in whole
// passes and leave others open.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/optimize/precedence_graph.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// A micro-batch follows the chain of stages without waiting, but for these delays; the next one does the
// same a period later. A leg is what a micro-batch passes before it meets a device again. All tables by
// leg.
struct delay_block {
  tick period = 1;
  std::vector<tick> forward_hop, backward_hop;  // between the stages of a leg
  std::vector<tick> turn;    // between legs: forward ones, the turn to the backward, backward ones
  std::vector<tick> weight;  // of a weight pass, after its input pass

  constexpr delay_block(int legs, tick every)
      : period(every),
        forward_hop(static_cast<std::size_t>(legs), 0),
        backward_hop(forward_hop),
        turn(static_cast<std::size_t>(2 * legs - 1), 0),
        weight(forward_hop) {}

  constexpr std::size_t size() const { return 1 + 2 * weight.size() + turn.size() + weight.size(); }

  // The period first, then every delay.
  constexpr tick& operator[](std::size_t i) {
    if (i == 0) return period;
    --i;
    for (auto* table : {&forward_hop, &backward_hop, &turn}) {
      if (i < table->size()) return (*table)[i];
      i -= table->size();
    }
    return weight[i];
  }
};

// The time of a stage's passes of one kind on a device, as the mean over the chunks of a sequence.
constexpr tick mean_length(schedule const& s, pass_kind kind, int stage, int device) {
  int const q = s.cost.sequence_chunks;
  tick sum = 0;
  for (int chunk = 0; chunk < q; ++chunk) sum += s.cost.of({kind, stage, chunk}, device);
  return (sum + q - 1) / q;
}

// The leg of each stage of a chain.
constexpr dynamic_array<std::size_t> legs_of(placement const& where) {
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

// When a micro-batch that begins at 0 passes the stages of a chain.
struct offsets_of_stages {
  std::vector<tick> forward, backward, weight;

  constexpr offsets_of_stages(delay_block const& b, dynamic_array<std::size_t> const& leg,
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

  // A recompute comes right before the backward: by its place in the order, after the forward.
  constexpr tick of(pass what) const {
    auto const stage = static_cast<std::size_t>(what.stage);
    if (what.kind == pass_kind::forward) return forward[stage];
    if (what.kind == pass_kind::recompute) return backward[stage] - 1;
    return what.kind == pass_kind::backward_weight ? weight[stage] : backward[stage];
  }
};

// How many periods after the first a pass comes: its micro-batch, but the chunks of a sequence go
// backward in reverse, from when the last of them has gone forward.
constexpr int turn_of(pass what, int sequence_chunks) {
  if (what.kind == pass_kind::forward) return what.micro_batch;
  int const chunk = what.micro_batch % sequence_chunks;
  return what.micro_batch + 2 * (sequence_chunks - 1 - chunk);
}

// Each micro-batch follows when the one before it is through. Chain of stages, one route; of sequences
// in chunks, the next one's come before all of the last one's are through.
constexpr delay_block one_at_a_time(schedule const& s) {
  dynamic_array<std::size_t> const leg = legs_of(s.where);
  delay_block b(static_cast<int>(leg.back()) + 1, 1);
  offsets_of_stages const at(b, leg, s, false);
  for (int stage = 0; stage < s.stage_count(); ++stage)
    b.period = max_of(
        b.period, nth(at.weight, stage)
                      + mean_length(s, pass_kind::backward_weight, stage, s.where.device_of(0, stage)));
  return b;
}

// The order of all passes of `s` (chain of stages, one route) as the block repeats; with tracks, every
// so many micro-batches are alike, each of which has a block (the period is that of the first). O(n log
// n).
constexpr precedence_graph::plan plan_of(std::vector<delay_block> const& tracks, schedule const& s,
                                         precedence_graph const& passes) {
  bool fused = false;
  for (pass what : passes.what) fused = fused || what.kind == pass_kind::backward;
  dynamic_array<std::size_t> const leg = legs_of(s.where);
  std::vector<offsets_of_stages> offsets;
  for (delay_block const& b : tracks) offsets.push_back({b, leg, s, fused});

  precedence_graph::plan plan(passes.orders.size());
  dynamic_array<keyed_index> by_start;
  for (std::size_t device = 0; device < plan.size(); ++device) {
    by_start.clear();
    for (int x : passes.orders[device]) {
      pass const what = nth(passes.what, x);
      auto const track = static_cast<std::size_t>(what.micro_batch) % tracks.size();
      tick const turn = turn_of(what, s.graph.sequence_chunks());
      by_start.push_back(
          {offsets[track].of(what) + turn * tracks[0].period, static_cast<std::size_t>(x)});
    }
    sort_by_key(by_start);
    for (keyed_index const& k : by_start) plan[device].push_back(static_cast<int>(k.index));
  }
  return plan;
}

// Work of the busiest device for one sequence: a micro-batch, or all chunks of it.
constexpr tick work_of_sequence(schedule const& s) {
  tick most = 0;
  for (int d = 0; d < s.device_count(); ++d) {
    tick work = 0;
    for (timed_pass const& t : nth(s.order, d))
      work += t.what.micro_batch < s.graph.sequence_chunks() ? s.cost.of(t.what, d) : 0;
    most = max_of(most, work);
  }
  return most;
}

// For one micro-batch; for a chunk on average, rounded up.
constexpr tick work_of_one(schedule const& s) {
  int const q = s.graph.sequence_chunks();
  return (work_of_sequence(s) + q - 1) / q;
}

}  // namespace ashlar
