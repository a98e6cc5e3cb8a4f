// The events between devices (transfers and reductions) of a schedule in one global order.
//
// All events are ordered by the time at which their producer ends, and the list of each device is the
// restriction of that one order. So the order is acyclic by construction, and first in, first out
// between any two devices. Greedy insertion, device by device, would guarantee neither.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/model/pass_table.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>

namespace ashlar {

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
// the first of the stages there that need it. Linear for schedules of unit passes, O(n log n) for
// others.
constexpr dynamic_array<event> events_in_order(schedule const& s, parameter_groups const& groups) {
  struct producer {
    tick end = 0;
    pass_kind kind = pass_kind::forward;
    bool is_known = false;
  };
  int const stage_count = s.stage_count(), m = s.micro_batch_count();
  work_view const work = s.work.view();
  pass_table<producer> made(stage_count, m, work);
  tick earliest = 0, latest = 0;  // a schedule may begin before 0
  for (auto const& order : s.order)
    if (!order.empty() && order.front().start < earliest) earliest = order.front().start;
  dynamic_array<tick> last_weight(static_cast<std::size_t>(stage_count), earliest);
  for (int d = 0; d < s.device_count(); ++d)
    for (timed_pass const& t : nth(s.order, d)) {
      tick const end = s.end_of(t, d);
      made.at(t.what) = {end, t.what.kind, true};
      latest = end > latest ? end : latest;
      if (t.what.kind == pass_kind::work) {
        work_view::job const& job = work.of(t.what.stage);
        if (job.gradient != gradient_use::give) continue;
        tick& given = nth(last_weight, job.stage);
        given = max_of(given, end);
        continue;
      }
      tick& last = nth(last_weight, t.what.stage);
      if (gives_weight_gradient(t.what.kind) && end > last) last = end;
    }

  dynamic_array<event> events;  // in the order that ties are to have
  events.reserve(2 * static_cast<std::size_t>(s.graph.edge_count()) * s.route.size()
                 + last_weight.size());
  auto const add = [&](int micro_batch, int from, int to, result r) {
    int const route = nth(s.route, micro_batch);
    int const source = s.where.device_of(route, from), target = s.where.device_of(route, to);
    producer const& p = made.at(micro_batch, from, r);
    if (source == target || !p.is_known) return;
    if (r == result::activation)
      for (int other : s.graph.successors(from)) {
        if (other == to) break;
        if (s.where.device_of(route, other) == target) return;
      }
    events.push_back({p.end, {p.kind, from, micro_batch}, to, source, target});
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
                          [&](pass from, tick) { last = max_of(last, made.at(from).end); });
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

constexpr dynamic_array<event> events_in_order(schedule const& s) {
  return events_in_order(s, parameter_groups(s.where));
}

}  // namespace ashlar
