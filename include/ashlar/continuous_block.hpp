// A building block with offsets of any length, as a plan for the dispatcher: it may collide, because
// only its order counts. Qi et al., Controllable Memory (2024), section 4, search offsets in whole
// passes and leave others open.
#pragma once

#include <ashlar/improve.hpp>
#include <ashlar/metrics.hpp>
#include <ashlar/squeeze.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// A micro-batch follows the chain of stages without waiting, but for these delays; the next one does the
// same a period later. A leg is what a micro-batch passes before it meets a device again, one chunk a
// device. All tables by leg.
struct continuous_block {
  tick period = 1;
  std::vector<tick> forward_hop, backward_hop;  // between the stages of a leg
  std::vector<tick> turn;    // between legs: forward ones, the turn to the backward, backward ones
  std::vector<tick> weight;  // of a weight pass, behind its input pass

  constexpr explicit continuous_block(int legs)
      : forward_hop(static_cast<std::size_t>(legs), 0),
        backward_hop(forward_hop),
        turn(static_cast<std::size_t>(2 * legs - 1), 0),
        weight(forward_hop) {}

  constexpr int legs() const { return static_cast<int>(weight.size()); }
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

// The order of the passes of `s` (chain of stages, one route) as the block repeats. O(n log n).
constexpr dispatcher::plan plan_of(continuous_block const& b, schedule const& s, dispatcher const& d) {
  int const count = s.stage_count(), legs = b.legs(), leg_length = (count + legs - 1) / legs;
  auto const at = [](int i) { return static_cast<std::size_t>(i); };
  auto const leg = [&](int stage) { return at(stage / leg_length); };
  auto const transfer = [&](int from, int to) {
    return s.where.device_of(0, from) == s.where.device_of(0, to) ? 0 : s.cost.transfer;
  };
  bool const fused = d.what(d.orders()[0].back()).kind == pass_kind::backward;
  std::vector<tick> forward(at(count), 0), backward(forward), weight(forward);
  tick now = 0;
  for (int i = 0; i < count; ++i) {
    if (i > 0) {
      now += transfer(i - 1, i);
      now += leg(i) == leg(i - 1) ? b.forward_hop[leg(i)] : b.turn[leg(i - 1)];
    }
    forward[at(i)] = now;
    now += s.cost.of_stage(i).forward;
  }
  now += b.turn[at(legs - 1)];
  for (int i = count - 1; i >= 0; --i) {
    if (i + 1 < count) {
      now += transfer(i + 1, i);
      now += leg(i) == leg(i + 1) ? b.backward_hop[leg(i)] : b.turn[at(2 * legs - 1) - leg(i + 1)];
    }
    backward[at(i)] = now;
    now += s.cost.of_stage(i).of(fused ? pass_kind::backward : pass_kind::backward_input);
    weight[at(i)] = now + b.weight[leg(i)];
  }

  dispatcher::plan plan(d.orders().size());
  for (std::size_t device = 0; device < plan.size(); ++device) {
    std::vector<std::pair<tick, int>> by_start;
    for (int x : d.orders()[device]) {
      pass const what = d.what(x);
      tick start = backward[at(what.stage)];
      if (what.kind == pass_kind::forward) start = forward[at(what.stage)];
      if (what.kind == pass_kind::backward_weight) start = weight[at(what.stage)];
      by_start.push_back({start + what.micro_batch * b.period, x});
    }
    std::sort(by_start.begin(), by_start.end());
    for (auto const& [start, x] : by_start) plan[device].push_back(x);
  }
  return plan;
}

// Work of the busiest device for one micro-batch.
constexpr tick work_of_one(schedule const& s) {
  std::vector<tick> work(static_cast<std::size_t>(s.device_count()), 0);
  for (int i = 0; i < s.stage_count(); ++i) {
    stage_cost const& c = s.cost.of_stage(i);
    work[static_cast<std::size_t>(s.where.device_of(0, i))] += c.forward + c.of(pass_kind::backward);
  }
  return *std::max_element(work.begin(), work.end());
}

inline constexpr freedom freedoms[] = {{1, 100}, {2, 100}, {3, 50},  {4, 100},
                                       {6, 30},  {8, 100}, {12, 50}, {24, 100}};

// Climbs the block's numbers, one or two at a time by up to 15 % of the work, and begins anew where it
// gets no further, until half of the effort is left.
constexpr void climb(improver& search, schedule const& s, int legs, effort e) {
  tick const work = work_of_one(s);
  std::size_t const reach = static_cast<std::size_t>(work * 3 / 20 > 2 ? work * 3 / 20 : 2);
  continuous_block best(legs);
  best.period = work;
  continuous_block const straight = best;
  std::size_t look = 3;
  bool skewed = false;
  if (search.left() <= e.passes / 2) return;
  tick least = search.justify(plan_of(best, s, search.passes()), freedoms[look], skewed);
  for (int idle = 0; search.left() > e.passes / 2; ++idle) {
    bool const anew = idle > 60;
    continuous_block next = anew ? straight : best;
    for (std::size_t changes = anew ? 8 : 1 + search.random(2); changes > 0; --changes) {
      std::size_t const which = search.random(next.size());
      tick const moved = next[which] + static_cast<tick>(search.random(2 * reach + 1))
                         - static_cast<tick>(reach),
                 lowest = which == 0 ? work : 0;
      next[which] = moved < lowest ? lowest : moved;
    }
    std::size_t const next_look = search.random(3) == 0 ? search.random(std::size(freedoms)) : look;
    bool const next_skewed = search.random(4) == 0 ? !skewed : skewed;
    tick const reached =
        search.justify(plan_of(next, s, search.passes()), freedoms[next_look], next_skewed);
    if (!anew && reached > least) continue;
    if (anew || reached < least) idle = 0;
    least = reached;
    best = next;
    look = next_look;
    skewed = next_skewed;
  }
}

// The best schedule found with at most `limit` chunk activations on a device, by makespan + span_weight
// * span. `seeds`: schedules of the same passes, on a chain of stages and one route of `legs` legs; the
// result is no worse than any of them that keeps to the limit, as far as the effort reaches (to the
// first always). It is the first squeezed, whatever that holds, without effort, where it has no idle
// time, and where nothing is found. Throws as squeeze() and the dispatcher do.
constexpr schedule improve(std::vector<schedule> const& seeds, int limit, int legs, effort e) {
  schedule const first = squeeze(seeds[0]);
  std::vector<tick> const all_busy = busy(first);
  if (e.passes <= 0 || makespan(first) == *std::max_element(all_busy.begin(), all_busy.end()))
    return first;
  improver search(first, limit, e);
  for (freedom f : freedoms)
    for (schedule const& seed : seeds)
      for (bool skewed : {false, true})
        if (search.left() > 0) search.justify(search.passes().planned_like(seed), f, skewed);
  climb(search, first, legs, e);
  while (search.found() && search.left() > 0) search.polish();
  if (!search.found()) return first;  // no conditional: g++ 12 destroys its operands while compiling
  return search.result();
}

}  // namespace ashlar
