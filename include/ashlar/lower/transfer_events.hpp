// The events between devices (transfers and reductions) of a schedule in one global order.
//
// All events are ordered by the time at which their producer ends, and the list of each device is the
// restriction of that one order. So the order is acyclic by construction, and first in, first out
// between any two devices. Greedy insertion, device by device, would guarantee neither.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/schedule/check.hpp>

#include <cstddef>

namespace ashlar {

// A transfer, a reduction, or collective work.
struct event {
  tick time = 0;   // end of the producer; for a reduction, of the group's last weight pass anywhere (or
                   // of the work that gives it back); for collective work, of the last part that it sums
  pass what = {};  // the producer
  int to = -1;     // the stage that the value is for
  int source = -1;  // device
  int target = -1;  // device
  int group = -1;   // of a reduction or of collective work: see all_reduce_count()

  constexpr bool is_reduction() const { return group >= 0; }

  friend constexpr bool operator==(event const&, event const&) = default;
};

// All events by time. Among equal times gradients come first, then activations, reductions and
// collective work, each by micro-batch and stage (group, job). An activation goes to a device once, for
// the first of the stages there that need it. `ends` is what check_passes(s) fills.
// Linear for schedules of unit passes, O(n log n) for others.
constexpr dynamic_array<event> events_in_order(schedule const& s, parameter_groups const& groups,
                                               pass_ends const& ends) {
  int const stage_count = s.stage_count(), m = s.micro_batch_count();
  work_view const work = s.work.view();
  tick earliest = 0, latest = 0;  // a schedule may begin before 0
  for (auto const& order : s.order)
    if (!order.empty() && order.front().start < earliest) earliest = order.front().start;
  dynamic_array<tick> last_weight(static_cast<std::size_t>(stage_count), earliest);
  for (int stage = 0; stage < stage_count; ++stage) {
    tick& last = nth(last_weight, stage);
    for (int k = 0; k < m; ++k) {
      auto const& input = ends.passes(k, stage, result::input_gradient);
      auto const& weight = input.fused ? input : ends.passes(k, stage, result::weight_gradient);
      if (weight.present) last = max_of(last, weight.end);
      latest = max_of(latest, max_of(ends.passes(k, stage, result::activation).end, input.end));
    }
    latest = max_of(latest, last);
  }
  for (int job = 0; job < work.job_count(); ++job)
    for (int k = 0; k < work.part_count(job); ++k) {
      tick const end = ends.work.end_of({pass_kind::work, job, k});
      latest = max_of(latest, end);
      if (work.of(job).gradient != gradient_use::give) continue;
      tick& given = nth(last_weight, work.of(job).stage);
      given = max_of(given, end);
    }

  dynamic_array<event> events;  // in the order that ties are to have
  events.reserve(2 * static_cast<std::size_t>(s.graph.edge_count()) * s.route.size()
                 + last_weight.size());
  auto const add = [&](int micro_batch, int from, int to, result r) {
    int const route = nth(s.route, micro_batch);
    int const source = s.where.device_of(route, from), target = s.where.device_of(route, to);
    auto const& producer = ends.passes(micro_batch, from, r);
    if (source == target || !producer.present) return;
    if (r == result::activation)
      for (int other : s.graph.successors(from)) {
        if (other == to) break;
        if (s.where.device_of(route, other) == target) return;
      }
    events.push_back({producer.end, {producer.kind(r), from, micro_batch}, to, source, target});
  };
  for (int k = 0; k < m; ++k)
    for (int stage = 0; stage < stage_count; ++stage)
      for (int to : s.graph.predecessors(stage)) add(k, stage, to, result::input_gradient);
  for (int k = 0; k < m; ++k)
    for (int stage = 0; stage < stage_count; ++stage)
      for (int to : s.graph.successors(stage)) add(k, stage, to, result::activation);
  for (int group = 0; group < groups.count() && s.mode == execution_mode::training; ++group) {
    tick last = earliest;
    for (int stage : groups.stages(group))
      if (nth(last_weight, stage) > last) last = nth(last_weight, stage);
    events.push_back({.time = last, .group = group});
  }
  for (int job = 0; job < work.job_count(); ++job) {
    if (work.of(job).kind != job_kind::all_reduce) continue;
    tick last = earliest;
    for (int k = 0; k < work.part_count(job); ++k)
      for_each_work_input(work, {pass_kind::work, job, k},
                          [&](pass from, tick) { last = max_of(last, ends.of(from)); });
    events.push_back({.time = last, .group = groups.count() + 1 + job});
  }

  if (static_cast<std::size_t>(latest - earliest) > 4 * events.size() + 64) {
    dynamic_array<keyed_index> by_time;
    for (std::size_t i = 0; i < events.size(); ++i) by_time.push_back({events[i].time, i});
    sort_by_key(by_time);
    dynamic_array<event> sorted;
    for (keyed_index const& k : by_time) sorted.push_back(events[k.index]);
    return sorted;
  }
  dynamic_array<std::size_t> next(static_cast<std::size_t>(latest - earliest) + 2,
                                  0);  // a stable counting sort
  for (event const& e : events) ++next[static_cast<std::size_t>(e.time - earliest) + 1];
  for (std::size_t t = 1; t < next.size(); ++t) next[t] += next[t - 1];
  dynamic_array<event> sorted(events.size());
  for (event const& e : events) sorted[nth(next, e.time - earliest)++] = e;
  return sorted;
}

// Throws violation with check_passes(s) if that is not ok.
constexpr dynamic_array<event> events_in_order(schedule const& s) {
  pass_ends ends = no_ends(s);
  if (diagnosis const d = check_passes(s, ends); !d.ok()) refuse(d);
  return events_in_order(s, parameter_groups(s.where), ends);
}

}  // namespace ashlar
