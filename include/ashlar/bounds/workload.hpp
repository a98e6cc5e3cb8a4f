// What every schedule of a model has to do on given devices, whatever its order.
#pragma once

#include <ashlar/block/check.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace ashlar {

// A chain of stages on the first route of `where`, micro-batches that are alike, and the most chunk
// activations that each device may hold: one more from the start of a forward, one less from the end of
// the fused backward or the weight pass (in inference, of the forward). Of sequences in q chunks, each
// chunk counts as a micro-batch.
struct workload {
  placement where;
  int micro_batch_count = 1;
  costs cost = {};
  std::vector<int> limits = {no_limit};  // one for all devices alike or one each
  bool splits_backward = true;           // the weight pass may wait; else backwards are fused
  execution_mode mode = execution_mode::training;
  std::vector<int> recomputed = {};  // stages that run their forwards again before the backward
  int sequence_chunks = 1;
  // What the limits count, if not all from the forward to the weight pass: activations from the start of
  // a recompute on (of stages without, from the end of the forward); or until the end of the input pass.
  pass_kind taken_by = pass_kind::forward;
  pass_kind given_back_by = pass_kind::backward_weight;

  static constexpr int no_limit = std::numeric_limits<int>::max();

  constexpr int limit_of(int device) const {
    return limits[limits.size() == 1 ? 0 : static_cast<std::size_t>(device)];
  }

  constexpr bool recomputes(int stage) const {
    return mode == execution_mode::training && contains(recomputed, stage);
  }

  // By stage: 1 if it recomputes.
  constexpr std::vector<char> recomputing() const {
    std::vector<char> all(static_cast<std::size_t>(where.stage_count()), 0);
    for (int stage : recomputed)
      if (mode == execution_mode::training && stage >= 0 && stage < where.stage_count())
        all[static_cast<std::size_t>(stage)] = 1;
    return all;
  }

  friend constexpr bool operator==(workload const&, workload const&) = default;
};

// Chunks of a device on the first route.
constexpr int chunk_count(placement const& where, int device) {
  int count = 0;
  for (int stage = 0; stage < where.stage_count(); ++stage)
    count += where.device_of(0, stage) == device ? 1 : 0;
  return count;
}

// Smallest feasible limit of a device with `count` chunks; exact when counted from the forward. In
// training a sequence's first backward comes after all of its forwards, so a device holds all of its
// chunks at once.
constexpr int smallest_limit_for(workload const& w, int count) {
  if (w.mode == execution_mode::inference || count == 0 || w.taken_by == pass_kind::recompute)
    return count == 0 ? 0 : 1;
  return count * w.sequence_chunks;
}
constexpr int smallest_activation_limit(workload const& w, int device) {
  return smallest_limit_for(w, chunk_count(w.where, device));
}

// Broken rules: those of check(costs); rule::counts_are_positive, rule::tables_agree,
// rule::micro_batches_fill_blocks for sequences that are not whole, rule::sizes_fit for more passes than
// can be counted, rule::parameter_is_at_least for a limit without a schedule. Linear in stages.
constexpr diagnosis check(workload const& w) {
  for (int count : {w.micro_batch_count, w.where.stage_count(), w.sequence_chunks})
    if (count < 1) return {.broken = rule::counts_are_positive, .number = count};
  if (w.micro_batch_count % w.sequence_chunks != 0)
    return {.broken = rule::micro_batches_fill_blocks, .number = w.sequence_chunks};
  int const p = w.where.device_count();
  if (w.limits.size() != 1 && static_cast<int>(w.limits.size()) != p)
    return {.broken = rule::tables_agree, .number = static_cast<std::int64_t>(w.limits.size())};
  // Passes are counted by int.
  std::int64_t const most = std::numeric_limits<int>::max() / results;
  if (w.where.stage_count() > most / w.micro_batch_count)
    return {.broken = rule::sizes_fit, .number = w.where.stage_count()};
  std::vector<int> chunk_counts(static_cast<std::size_t>(p), 0);
  for (int stage = 0; stage < w.where.stage_count(); ++stage)
    ++chunk_counts[static_cast<std::size_t>(w.where.device_of(0, stage))];
  for (int d = 0; d < p; ++d)
    if (int const least = smallest_limit_for(w, chunk_counts[static_cast<std::size_t>(d)]);
        w.limit_of(d) < least)
      return {.broken = rule::parameter_is_at_least,
              .first = {.device = d},
              .number = least,
              .which = parameter::activation_limit,
              .given = w.limit_of(d)};
  return check(w.cost, w.where.stage_count(), w.micro_batch_count);
}

// Whether there is a workload of the schedule: known stages form a chain, all micro-batches take one
// route and no overlapped pair takes less than its passes one after the other. Work is left out: without
// it no schedule would take longer or hold more.
constexpr bool has_workload(schedule const& s) {
  if (s.route.empty() || s.graph.count() != s.stage_count()) return false;
  if (s.route[0] < 0 || s.route[0] >= s.where.route_count()) return false;
  for (int stage = 0; stage + 1 < s.stage_count(); ++stage)
    if (s.graph.successors(stage).size() != 1 || s.graph.successors(stage)[0] != stage + 1) return false;
  for (int route : s.route)
    if (route != s.route[0]) return false;
  bool const pairs_are_sums = s.cost.overlapped == costs::one_after_the_other;
  for (auto const& order : s.order)
    for (timed_pass const& t : order)
      if (t.what.kind != pass_kind::work
          && (t.what.stage < 0 || t.what.stage >= s.stage_count()
              || (t.overlaps >= 0 && !pairs_are_sums)))
        return false;
  return true;
}

// The workload of a valid schedule that has one, else throws violation
// {rule::bound_is_for_a_chain_on_one_route}. Where only some backwards are split or some stages
// recompute, or sequences come in chunks, it asks for less than the schedule does: a fused backward is a
// split one without a pause. Linear in the passes.
constexpr workload workload_of(schedule const& s, std::vector<int> limits) {
  if (!has_workload(s)) throw violation{{.broken = rule::bound_is_for_a_chain_on_one_route}};
  bool split = false;
  std::vector<int> again(static_cast<std::size_t>(s.stage_count()), 0);
  for (auto const& order : s.order)
    for (timed_pass const& t : order) {
      split = split || t.what.kind == pass_kind::backward_input;
      if (t.what.kind == pass_kind::recompute) ++again[static_cast<std::size_t>(t.what.stage)];
    }
  std::vector<int> route, recomputed;
  for (int stage = 0; stage < s.stage_count(); ++stage) {
    route.push_back(s.where.device_of(s.route[0], stage));
    if (again[static_cast<std::size_t>(stage)] == s.micro_batch_count()) recomputed.push_back(stage);
  }
  return workload{.where = placement(devices{s.device_count()}, {route}),
                  .micro_batch_count = s.micro_batch_count(),
                  .cost = s.cost,
                  .limits = std::move(limits),
                  .splits_backward = split,
                  .mode = s.mode,
                  .recomputed = std::move(recomputed),
                  .sequence_chunks = s.graph.sequence_chunks()};
}

// Under what the device of the schedule that holds most holds, on every device.
constexpr workload workload_of(schedule const& s) {
  int most = 0;
  for (int peak : peak_activations(s)) most = peak > most ? peak : most;
  return workload_of(s, {most});
}

}  // namespace ashlar
