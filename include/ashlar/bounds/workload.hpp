// The passes that every schedule of a model must run on given devices, in any order.
#pragma once

#include <ashlar/block/check.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace ashlar {

// A chain of stages, micro-batches, and what each device may hold. Micro-batches differ in their routes,
// or in their times and memory.
// Stages that have a checkpoint in the limit run their forwards again before the backward. If sequences
// are in q chunks, each chunk counts as a micro-batch.
struct workload {
  placement where;
  int micro_batch_count = 1;
  std::vector<int> on_route = {};  // micro-batches on each route of `where`; empty: all on the first
  costs cost = {};
  memory_limit limit = chunk_activations(no_limit);
  bool splits_backward = true;  // the weight pass may wait; else backwards are fused
  execution_mode mode = execution_mode::training;
  int sequence_chunks = 1;
  bool overlaps = false;  // a forward and a fused backward may run as a pair, in cost.passes.overlapped
  bool overlaps_split = false;  // and a forward and an input or a weight pass

  static constexpr int no_limit = std::numeric_limits<int>::max();

  // Whether the stage runs its forward again before its backward.
  constexpr bool recomputes(int stage) const {
    return mode == execution_mode::training && limit.memory.of(stage).recomputes();
  }
  // Routes that are taken, and the micro-batches on each.
  constexpr int route_count() const { return on_route.empty() ? 1 : static_cast<int>(on_route.size()); }
  constexpr int micro_batches_on(int route) const {
    return on_route.empty() ? micro_batch_count : nth(on_route, route);
  }
  // Ticks of a stage's pass on its device, at least: of the shortest chunk or micro-batch. extra() has
  // the excess of the others. The most that pairs with fused backwards save, with a forward of any
  // stage, is taken off the weight pass, for which nothing waits, then off the input pass; a forward is
  // no longer than a pair of it. So no pair takes less than its passes.
  constexpr tick length(pass_kind kind, int stage, int route = 0) const {
    int const device = where.device_of(route, stage);
    if (!overlaps || kind == pass_kind::recompute) return shortest(kind, stage, device);
    using enum pass_kind;
    if (kind == backward)
      return length(backward_input, stage, route) + length(backward_weight, stage, route);
    constexpr int kinds = 3;
    auto const pair = [&](int ahead, int i, int back) {
      return cost.of_pair({forward, ahead, 0}, {pair_costs::backwards[i], back, 0}, device);
    };
    if (overlaps_split) {  // a forward runs with one other pass at most: their saving comes off it
      tick least = shortest(kind, stage, device), saved = 0;
      for (int other = 0; other < rows(); ++other)
        for (int i = 0; i < kinds; ++i) {
          pass_kind const back = pair_costs::backwards[i];
          if (kind == forward)
            saved = max_of(saved, longest(forward, stage, device) + longest(back, other, device)
                                      - pair(stage, i, other));
          else if (back == backward || back == kind)
            least = min_of(least, pair(other, i, stage));
        }
      return max_of<tick>(0, least - saved);
    }
    if (kind == forward) {
      tick least = shortest(kind, stage, device);
      for (int back = 0; back < rows(); ++back) least = min_of(least, pair(stage, 0, back));
      return least;
    }
    tick const input = longest(backward_input, stage, device),
               weight = longest(backward_weight, stage, device);
    tick saved = 0;
    for (int ahead = 0; ahead < rows(); ++ahead)
      saved = max_of(saved, longest(forward, ahead, device) + input + weight - pair(ahead, 0, stage));
    tick const off_weight = min_of(weight, saved);
    if (kind == backward_weight) return min_of(shortest(kind, stage, device), weight - off_weight);
    tick const off_input = min_of(input, saved - off_weight);
    return min_of(shortest(kind, stage, device), input - off_input);
  }
  // Ticks that the pass of a chunk or micro-batch takes beyond length(); of pairs, whose partners
  // differ, none counts.
  constexpr tick extra(pass_kind kind, int stage, int chunk, int route = 0) const {
    int const device = where.device_of(route, stage);
    return overlaps ? 0 : cost.of({kind, stage, chunk}, device) - shortest(kind, stage, device);
  }
  // The time of a message between neighbours of the chain.
  constexpr tick hop(int stage, int next, int route = 0) const {
    return cost.transfer(where.device_of(route, stage), where.device_of(route, next));
  }

  friend constexpr bool operator==(workload const&, workload const&) = default;

 private:
  constexpr tick shortest(pass_kind kind, int stage, int device) const {
    tick least = cost.of({kind, stage, 0}, device);
    for (int chunk = 1; chunk < cost.passes.period(); ++chunk)
      least = min_of(least, cost.of({kind, stage, chunk}, device));
    return least;
  }
  constexpr tick longest(pass_kind kind, int stage, int device) const {
    tick most = cost.of({kind, stage, 0}, device);
    for (int chunk = 1; chunk < cost.passes.period(); ++chunk)
      most = max_of(most, cost.of({kind, stage, chunk}, device));
    return most;
  }
  // Stages whose costs differ.
  constexpr int rows() const {
    return max_of(1, max_of(cost.passes.stages(), cost.passes.overlapped.stages()));
  }
};

// The passes of a micro-batch between which memory is counted: from the start of the forward or (for
// stages without one, from the end of the forward) the recompute, to the end of the weight or the input
// pass.
struct counted_span {
  pass_kind from = pass_kind::forward;
  pass_kind to = pass_kind::backward_weight;
};

// A limit, in any unit, counted in activations: no more fit on a device than if each held only the least
// that it holds all the time between these passes.
constexpr int activations_on(workload const& w, int device, counted_span counted = {}) {
  byte_count least = 0;
  bool any = false;
  for (int route = 0; route < w.route_count(); ++route)
    for (int stage = 0; stage < w.where.stage_count(); ++stage)
      if (w.where.device_of(route, stage) == device) {
        for (int k = 0; k < w.limit.memory.period(); ++k) {
          byte_count const held = w.limit.memory.of(stage, k).least_held(counted.from, counted.to);
          least = any ? min_of(least, held) : held;
          any = true;
        }
      }
  if (least == 0) return workload::no_limit;
  return static_cast<int>(
      min_of<byte_count>(w.limit.free_on(w.where, device) / least, workload::no_limit));
}

// All ways to count that may differ: a stage that recomputes or ends early holds less before or after.
constexpr dynamic_array<counted_span> counted_spans(workload const& w) {
  bool again = false, early = false;
  for (int stage = 0; stage < w.where.stage_count(); ++stage)
    for (int k = 0; k < w.limit.memory.period(); ++k) {
      stage_memory const& own = w.limit.memory.of(stage, k);
      again = again || (w.recomputes(stage) && own.kept_by_forward() < own.stash);
      early = early || own.least_held(pass_kind::recompute, pass_kind::backward_weight) < own.stash;
    }
  early = early && w.splits_backward && w.mode == execution_mode::training;
  dynamic_array<counted_span> all(1);
  if (early) all.push_back({.to = pass_kind::backward_input});
  for (std::size_t i = 0, count = again ? all.size() : 0; i < count; ++i)
    all.push_back({pass_kind::recompute, all[i].to});
  return all;
}

// Chunks of a device on the first route.
constexpr int chunk_count(placement const& where, int device) {
  int count = 0;
  for (int stage = 0; stage < where.stage_count(); ++stage)
    count += where.device_of(0, stage) == device ? 1 : 0;
  return count;
}

// Broken rules: those of check(costs) and check(memory_limit); rule::counts_are_positive,
// rule::tables_agree unless each route is taken and all micro-batches take one,
// rule::micro_batches_fill_blocks for sequences that are not whole, rule::sizes_fit for more passes than
// can be counted. O(devices * stages * routes).
constexpr diagnosis check(workload const& w) {
  for (int count : {w.micro_batch_count, w.where.stage_count(), w.sequence_chunks})
    if (count < 1) return {.broken = rule::counts_are_positive, .number = count};
  if (w.micro_batch_count % w.sequence_chunks != 0)
    return {.broken = rule::micro_batches_fill_blocks, .number = w.sequence_chunks};
  if (!w.on_route.empty()) {
    if (static_cast<int>(w.on_route.size()) != w.where.route_count())
      return wrong_size(table::routes_of_workload, w.on_route.size(), w.where.route_count());
    std::int64_t sum = 0;
    for (int const count : w.on_route) {
      if (count < 1) return {.broken = rule::counts_are_positive, .number = count};
      if (count % w.sequence_chunks != 0)
        return {.broken = rule::micro_batches_fill_blocks, .number = w.sequence_chunks};
      sum += count;
    }
    if (sum != w.micro_batch_count)
      return wrong_size(table::micro_batches_of_schedule, sum, w.micro_batch_count);
  }
  if ((w.cost.passes.micro_batches() != 0 || w.limit.memory.micro_batches != 0) && w.route_count() > 1)
    return {.broken = rule::bound_is_for_a_chain};
  // Passes are counted by int.
  std::int64_t const most = std::numeric_limits<int>::max() / results;
  if (w.where.stage_count() > most / w.micro_batch_count)
    return {.broken = rule::sizes_fit, .number = w.where.stage_count()};
  if (diagnosis const d = check(w.limit, w.where, w.micro_batch_count, w.sequence_chunks, w.mode);
      !d.ok())
    return d;
  return check(w.cost, w.where.stage_count(), w.where.device_count(), w.micro_batch_count,
               w.sequence_chunks);
}

// Whether there is a workload of the schedule: known stages form a chain and stay, and routes are known,
// of which micro-batches that take different times take one. Work is left out: without it no schedule
// would take longer or hold more.
constexpr bool has_workload(schedule const& s) {
  if (s.route.empty() || s.graph.count() != s.stage_count() || s.graph.has_sizes() || s.where.moves())
    return false;
  for (int stage = 0; stage + 1 < s.stage_count(); ++stage)
    if (s.graph.successors(stage).size() != 1 || s.graph.successors(stage)[0] != stage + 1) return false;
  for (int route : s.route)
    if (route < 0 || route >= s.where.route_count()
        || (route != s.route[0] && s.cost.passes.micro_batches() != 0))
      return false;
  for (auto const& order : s.order)
    for (timed_pass const t : each_pass(order))
      if (!is_part(t.what) && (t.what.stage < 0 || t.what.stage >= s.stage_count())) return false;
  return true;
}

// The workload of a valid schedule that has one, else throws violation {rule::bound_is_for_a_chain}.
// Where only some backwards are split or some stages recompute, or sequences come in chunks, it asks for
// less than the schedule does: a fused backward is a split one without a pause. A recomputed activation
// counts as a chunk activation from its forward on. Linear in the passes.
constexpr workload workload_of(schedule const& s, std::vector<int> const& limits) {
  if (!has_workload(s)) refuse({.broken = rule::bound_is_for_a_chain});
  bool split = false, pairs = false, split_pairs = false;
  for (auto const& order : s.order)
    for (timed_pass const t : each_pass(order)) {
      split = split || t.what.kind == pass_kind::backward_input;
      pairs = pairs || t.slot->is_pair();
      split_pairs = split_pairs || (t.slot->is_pair() && t.slot->beside.kind != pass_kind::backward);
    }
  std::vector<int> taken(static_cast<std::size_t>(s.where.route_count()), 0), counts;
  for (int route : s.route) ++nth(taken, route);
  std::vector<std::vector<int>> routes;
  for (int route = 0; route < s.where.route_count(); ++route) {
    if (nth(taken, route) == 0) continue;
    counts.push_back(nth(taken, route));
    routes.emplace_back();
    for (int stage = 0; stage < s.stage_count(); ++stage)
      routes.back().push_back(s.where.device_of(route, stage));
  }
  if (counts.size() == 1) counts.clear();
  memory_limit held = chunk_activations({limits.begin(), limits.end()});
  held.memory = recomputing(std::move(held.memory), s.stage_count(), recomputed_stages(s),
                            [](int, stage_memory const&) { return byte_count{1}; });
  return workload{.where = placement(devices{s.device_count()}, routes),
                  .micro_batch_count = s.micro_batch_count(),
                  .on_route = std::move(counts),
                  .cost = s.cost,
                  .limit = std::move(held),
                  .splits_backward = split,
                  .mode = s.mode,
                  .sequence_chunks = s.graph.sequence_chunks(),
                  .overlaps = pairs && s.cost.passes.overlapped.are_given(),
                  .overlaps_split = split_pairs};
}

// The workload whose limit, on every device, is the highest peak among the devices of the schedule.
constexpr workload workload_of(schedule const& s) { return workload_of(s, {peak_of_all(s)}); }

}  // namespace ashlar
