// Lower bounds on the time of any schedule of a workload, and how far a schedule is from them.
#pragma once

#include <ashlar/bounds/closed_forms.hpp>
#include <ashlar/bounds/earliest_starts.hpp>
#include <ashlar/bounds/flow.hpp>
#include <ashlar/bounds/graph_bound.hpp>
#include <ashlar/bounds/one_machine.hpp>
#include <ashlar/bounds/workload.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace ashlar {

// Why no schedule can be shorter: the work of one device alone; that and dependencies; or that and the
// limits on memory.
enum class binding_constraint : unsigned char { work, dependencies, memory };

// No valid schedule has a span or a makespan below these, in ticks.
struct bound {
  tick span = 0, makespan = 0;
  binding_constraint span_by = binding_constraint::work, makespan_by = binding_constraint::work;

  friend constexpr bool operator==(bound const&, bound const&) = default;
};

namespace bounding_detail {

// The time from 0 to the end of all that follows the jobs of some device.
constexpr tick longest_machine(flow const& f, flow const& turned, int origin) {
  earliest_starts const forth(f, origin), back(turned, origin);
  tick longest = 0;
  for (int d = 0; d < f.device_count(); ++d)
    if (!f.on(d).empty()) longest = later(longest, one_machine(jobs_of(f, d, forth, back)));
  return longest;
}

// The devices from whose first start the span is counted: all of them if they are few. If they are
// many, the first of the chain, which all others wait for, and the busiest.
constexpr std::vector<int> origins(flow const& f) {
  constexpr int few = 16;
  std::vector<int> found;
  int busiest = f.device_of(0);
  tick most = 0;
  for (int d = 0; d < f.device_count(); ++d) {
    tick work = 0;
    for (int stage : f.on(d))
      for (int k = 0; k < f.step_count(); ++k) {
        work += f.sequence_chunks * f.length(k, stage) + f.more(k, stage);
        for (int chunk = 0; chunk < f.sequence_chunks; ++chunk) work += f.extra(k, stage, chunk);
      }
    if (work > most) busiest = d;
    most = later(most, work);
    if (work > 0 && f.device_count() <= few) found.push_back(d);
  }
  if (!found.empty()) return found;
  found = {f.device_of(0)};
  if (busiest != found[0]) found.push_back(busiest);
  return found;
}

// The bounds that follow from earliest starts in forward and in reversed time, in ticks.
constexpr bound machine_bound(flow const& f) {
  flow const turned = reversed(f);
  bound b;
  for (int origin : origins(f)) b.span = later(b.span, longest_machine(f, turned, origin));
  b.makespan = later(b.span, longest_machine(f, turned, earliest_starts::whole));
  return b;
}

}  // namespace bounding_detail

// The span is bounded device by device: from the device's first start to its last end, every device's
// passes have heads (what must have happened since that start) and tails (what must happen before that
// end), and one device cannot take less for all of its own than with passes that may be interrupted.
// A limit counts in the largest of all ways (counted_spans). On several routes, of which each device
// sees a part, the area of its memory over time counts as well.
// Throws violation as check(workload) says. O(min(p, 16) p n) for n passes.
constexpr bound workload_bound(workload const& w) {
  if (diagnosis const d = check(w); !d.ok()) refuse(d);
  bound b;
  for (counted_span const counted : counted_spans(w)) {
    bound const one = bounding_detail::machine_bound(bounding_detail::flow_of(w, counted));
    b.span = bounding_detail::later(b.span, one.span);
    b.makespan = bounding_detail::later(b.makespan, one.makespan);
  }
  if (w.route_count() > 1) {
    b.span = bounding_detail::later(b.span, area_bound(w));
    b.makespan = bounding_detail::later(b.makespan, b.span);
  }

  auto const raise_to_longest_way = [&](bound& to) {
    if (w.cost.passes.micro_batches() == 0) return;
    tick const way = longest_way(w);
    if (w.mode == execution_mode::training) to.span = bounding_detail::later(to.span, way);
    to.makespan = bounding_detail::later(to.makespan, way);
  };
  raise_to_longest_way(b);

  tick const work = busiest_work(w);
  if (b.makespan == work) return b;
  bounding_detail::flow f = bounding_detail::flow_of(w, {});
  for (int d = 0; d < f.device_count(); ++d) nth(f.limit, d) = f.count_on(d);
  bound unlimited = bounding_detail::machine_bound(f);
  raise_to_longest_way(unlimited);
  auto const why = [&](tick limited, tick free) {
    return limited == work   ? binding_constraint::work
           : limited == free ? binding_constraint::dependencies
                             : binding_constraint::memory;
  };
  b.span_by = why(b.span, unlimited.span);
  b.makespan_by = why(b.makespan, unlimited.makespan);
  return b;
}

// The bound for all schedules of the same passes on the same placement, with on every device at most
// `limit` chunk activations (by default as many as the device of `s` that holds most). For stages that
// are no chain, graph_bound(), which has no limit; nothing where there is neither.
constexpr std::optional<bound> schedule_bound(schedule const& s, int limit) {
  if (has_workload(s)) return workload_bound(workload_of(s, {limit}));
  if (!has_path_bound(s)) return std::nullopt;
  path_bound const b = graph_bound(s);
  auto const why = [&](tick time) {
    return time == b.work ? binding_constraint::work : binding_constraint::dependencies;
  };
  return bound{b.span, b.makespan, why(b.span), why(b.makespan)};
}
constexpr std::optional<bound> schedule_bound(schedule const& s) {
  return schedule_bound(s, has_workload(s) ? peak_of_all(s) : 0);
}

// The constraint that holds the bound, as an adverbial.
constexpr char const* name_of(binding_constraint what) {
  switch (what) {
    case binding_constraint::work:
      return "by work";
    case binding_constraint::dependencies:
      return "by dependencies";
    case binding_constraint::memory:
      return "by memory";
  }
  return "";
}

// The share of the bound by which a time exceeds it; 0 is proved optimal.
template <class Time>
constexpr double gap(Time reached, Time least) {
  return least == 0 ? 0.0 : static_cast<double>(reached - least) / static_cast<double>(least);
}

}  // namespace ashlar
