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
  tick time;       // end of the producer; for a reduction, of the group's last weight pass anywhere (or
                   // of the work that gives it back); for collective work, of the last part that it sums
  pass what = {};  // the producer
  int to = -1;     // the stage that the value is for
  int source = -1;  // device
  int target = -1;  // device
  int group = -1;   // of a reduction or of collective work: see all_reduce_count()

  constexpr bool is_reduction() const { return group >= 0; }

  friend constexpr bool operator==(event const&, event const&) = default;
};

namespace lower_detail {

// The ends that events wait for.
struct event_times {
  tick earliest = 0, latest = 0;      // a schedule may begin before 0
  dynamic_array<tick> gradient_ends;  // by stage: of what adds to its gradient last, or gives it back
};

constexpr event_times times_of_events(schedule const& s, pass_ends const& ends) {
  int const m = s.micro_batch_count();
  work_view const work = s.work.view();
  event_times t;
  for (auto const& order : s.order)
    if (!order.empty()) t.earliest = min_of(t.earliest, order.front().start);
  t.gradient_ends = dynamic_array<tick>(static_cast<std::size_t>(s.stage_count()), t.earliest);
  for (int stage = 0; stage < s.stage_count(); ++stage) {
    tick& last = nth(t.gradient_ends, stage);
    for (int k = 0; k < m; ++k) {
      auto const& input = ends.passes(k, stage, result::input_gradient);
      auto const& weight = input.fused ? input : ends.passes(k, stage, result::weight_gradient);
      if (weight.present) last = max_of(last, weight.end);
      t.latest = max_of(t.latest, max_of(ends.passes(k, stage, result::activation).end, input.end));
    }
    t.latest = max_of(t.latest, last);
  }
  for (int job = 0; job < work.job_count(); ++job)
    for (int k = 0; k < work.part_count(job); ++k) {
      tick const end = ends.work.end_of({job, k});
      t.latest = max_of(t.latest, end);
      job_gradient const uses = work.gradient_of(job);
      give_gradient const* const gives = uses.get_if<give_gradient>();
      if (gives == nullptr) continue;
      tick& given = nth(t.gradient_ends, gives->stage);
      given = max_of(given, end);
    }
  return t;
}

// Adds those of all links between devices: gradients first, then activations, then what forwards keep
// for backwards elsewhere, each by micro-batch and stage.
constexpr void add_transfers(schedule const& s, pass_ends const& ends, dynamic_array<event>& events) {
  int const stage_count = s.stage_count(), m = s.micro_batch_count();
  auto const add = [&](int micro_batch, int from, int to, result r) {
    int const route = nth(s.route, micro_batch);
    int const source = s.where.device_of(route, from, r), target = s.where.device_of(route, to, r);
    auto const& producer = ends.passes(micro_batch, from, r);
    if (source == target || !producer.present) return;
    if (r == result::activation)
      for (int other : s.graph.readers(from)) {
        if (other == to) break;
        if (s.where.device_of(route, other) == target) return;
      }
    bool const is_early = s.graph.gives_gradient_early(from);
    tick const end = is_early ? ends.passes(micro_batch, from, result::activation).end : producer.end;
    events.push_back({end, {producer.kind(r), from, micro_batch}, to, source, target});
  };
  for (int k = 0; k < m; ++k)
    for (int stage = 0; stage < stage_count; ++stage)
      for (int to : s.graph.predecessors(stage)) add(k, stage, to, result::input_gradient);
  for (int k = 0; k < m; ++k)
    for (int stage = 0; stage < stage_count; ++stage)
      for (int to : s.graph.readers(stage)) add(k, stage, to, result::activation);
  if (!s.where.moves() || s.mode == execution_mode::inference) return;
  for (int k = 0; k < m; ++k)
    for (int stage = 0; stage < stage_count; ++stage) {
      int const route = nth(s.route, k);
      int const source = s.where.device_of(route, stage),
                target = s.where.backward_device_of(route, stage);
      if (source != target)
        events.push_back({ends.passes(k, stage, result::activation).end,
                          {pass_kind::forward, stage, k},
                          stage,
                          source,
                          target});
    }
}

// Reductions by group, then collective work by job.
constexpr void add_sums(schedule const& s, parameter_groups const& groups, pass_ends const& ends,
                        event_times const& t, dynamic_array<event>& events) {
  work_view const work = s.work.view();
  for (int group = 0; group < groups.count() && s.mode == execution_mode::training; ++group) {
    tick last = t.earliest;
    for (int stage : groups.stages(group)) last = max_of(last, nth(t.gradient_ends, stage));
    events.push_back({.time = last, .group = group});
  }
  for (int job = 0; job < work.job_count(); ++job) {
    if (!work.is_collective(job)) continue;
    tick last = t.earliest;
    for (int k = 0; k < work.part_count(job); ++k)
      for_each_work_input(work, part_id{job, k},
                          [&](pass from, tick) { last = max_of(last, ends.of(from)); });
    events.push_back({.time = last, .group = groups.count() + 1 + job});
  }
}

}  // namespace lower_detail

// All events by time. Among equal times gradients come first, then activations, kept values, reductions
// and collective work, each by micro-batch and stage (group, job). An activation goes to a device once,
// for the first of the stages there that need it. Takes `ends` as check_passes(s) fills it. Linear for
// schedules of unit passes, O(n log n) for others.
constexpr dynamic_array<event> events_in_order(schedule const& s, parameter_groups const& groups,
                                               pass_ends const& ends) {
  lower_detail::event_times const t = lower_detail::times_of_events(s, ends);
  dynamic_array<event> events;  // in the order that ties are to have
  events.reserve(2 * static_cast<std::size_t>(s.graph.link_count()) * s.route.size()
                 + t.gradient_ends.size());
  lower_detail::add_transfers(s, ends, events);
  lower_detail::add_sums(s, groups, ends, t, events);
  return sorted_by(events, t.earliest, t.latest, [](event const& e) { return e.time; });
}

// Throws violation with check_passes(s) if that is not ok.
constexpr dynamic_array<event> events_in_order(schedule const& s) {
  pass_ends ends = no_ends(s);
  if (diagnosis const d = check_passes(s, ends); !d.ok()) refuse(d);
  return events_in_order(s, parameter_groups(s.where), ends);
}

}  // namespace ashlar
