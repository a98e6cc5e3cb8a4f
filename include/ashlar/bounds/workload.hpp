// What every schedule of a model has to do on given devices, whatever its order.
#pragma once

#include <ashlar/check_block.hpp>
#include <ashlar/cost.hpp>
#include <ashlar/maybe.hpp>
#include <ashlar/metrics.hpp>
#include <ashlar/placement.hpp>
#include <ashlar/schedule.hpp>

#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace ashlar {

// A chain of stages on the first route of `where`, micro-batches that are alike, and the most chunk
// activations that each device may hold: one more from the start of a forward, one less from the end of
// the fused backward or the weight pass (in inference, of the forward).
struct workload {
  placement where;
  int micro_batch_count = 1;
  costs cost = {};
  std::vector<int> limits = {no_limit};  // one for all devices alike or one each
  bool splits_backward = true;           // the weight pass may wait; else backwards are fused
  bool recomputes = false;               // every stage runs its forward again before its backward
  bool trains = true;                    // false: inference, forwards only

  static constexpr int no_limit = std::numeric_limits<int>::max();

  constexpr int limit_of(int device) const {
    return limits[limits.size() == 1 ? 0 : static_cast<std::size_t>(device)];
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

// The smallest limit under which there is a schedule. In training a micro-batch's first backward comes
// after all of its forwards, so each device holds all of its chunks at once; one micro-batch after the
// other holds no more. In inference nothing is kept.
constexpr int smallest_limit(placement const& where, int device, bool trains = true) {
  int const count = chunk_count(where, device);
  return trains || count == 0 ? count : 1;
}

// Broken rules: those of check(costs); rule::counts_are_positive, rule::tables_agree,
// rule::parameter_is_at_least for a limit without a schedule.
constexpr diagnosis check(workload const& w) {
  if (w.micro_batch_count < 1 || w.where.stage_count() < 1)
    return {.broken = rule::counts_are_positive, .number = w.micro_batch_count};
  int const p = w.where.device_count();
  if (w.limits.size() != 1 && static_cast<int>(w.limits.size()) != p)
    return {.broken = rule::tables_agree, .number = static_cast<std::int64_t>(w.limits.size())};
  for (int d = 0; d < p; ++d)
    if (int const least = smallest_limit(w.where, d, w.trains); w.limit_of(d) < least)
      return {.broken = rule::parameter_is_at_least,
              .first = {.device = d},
              .number = least,
              .which = parameter::activation_limit,
              .given = w.limit_of(d)};
  return check(w.cost, w.where.stage_count(), w.micro_batch_count);
}

// The workload of a valid schedule, under limits of its own or given ones. None unless stages form a
// chain, all micro-batches take one route and no overlapped pair takes less than its passes one after
// the other. Where only some backwards are split or some stages recompute, the workload asks for less
// than the schedule does: a fused backward is a split one without a pause.
constexpr maybe<workload> workload_of(schedule const& s, std::vector<int> limits) {
  if (s.route.empty() || s.graph.count() != s.stage_count()) return std::nullopt;
  for (int stage = 0; stage + 1 < s.stage_count(); ++stage)
    if (s.graph.successors(stage).size() != 1 || s.graph.successors(stage)[0] != stage + 1)
      return std::nullopt;
  for (int route : s.route)
    if (route != s.route[0]) return std::nullopt;

  bool split = false;
  int again = 0;
  for (auto const& order : s.order)
    for (timed_pass const& t : order) {
      if (t.overlaps >= 0 && s.cost.overlapped != costs::one_after_the_other) return std::nullopt;
      split = split || t.what.kind == pass_kind::backward_input;
      again += t.what.kind == pass_kind::recompute ? 1 : 0;
    }
  std::vector<int> route;
  for (int stage = 0; stage < s.stage_count(); ++stage)
    route.push_back(s.where.device_of(s.route[0], stage));
  return workload{.where = placement(devices{s.device_count()}, {route}),
                  .micro_batch_count = s.micro_batch_count(),
                  .cost = s.cost,
                  .limits = std::move(limits),
                  .splits_backward = split,
                  .recomputes = again == s.stage_count() * s.micro_batch_count(),
                  .trains = s.trains};
}

// Under what the device of the schedule that holds most holds, on every device.
constexpr maybe<workload> workload_of(schedule const& s) {
  int most = 0;
  for (int peak : peak_activations(s)) most = peak > most ? peak : most;
  return workload_of(s, {most});
}

}  // namespace ashlar
