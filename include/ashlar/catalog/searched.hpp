// Schedules that are named for a limit on memory: those with the least idle time that a search finds
// within it, for given costs. The published ones come from greedy schedulers; these are no longer and
// hold no more.
#pragma once

#include <ashlar/bounds/closed_forms.hpp>
#include <ashlar/catalog/shape.hpp>

#include <cstdint>

namespace ashlar::catalog {

// The budget of such an entry, in dispatched passes: 3,000 times the schedule's size, capped at 12
// million (about 1 s).
std::int64_t search_budget_of(schedule const& s);

// The greatest number of ticks of which all times are multiples: what is searched does not depend on the
// unit of the costs. 1 where speeds or bandwidths round, and where a time is negative.
tick common_tick(costs const& c);

// The costs in ticks `unit` times as long. Throws violation{rule::counts_are_positive} for none.
costs in_units(costs c, tick unit);

// A lower bound on the span of all schedules of this shape, by a closed form; else 0.
template <class ClosedForms>
tick least_span(shape const& s, int limit, ClosedForms closed_forms) {
  interconnect links = s.cost.on.links;
  if (links.node_size == 0) links.between = links.inside;
  bool const alike = s.cost.passes.are_alike() && s.cost.on.speeds.empty()
                     && links == interconnect{links.inside, links.inside, links.node_size};
  if (!alike) return 0;
  return closed_forms(
      uniform_workload{s.p, s.m, s.cost.passes.of(0), links.inside.time_of(s.cost.message), limit});
}

// Checks the shape's sizes, with `chunk_count` chunks a device, and its costs.
diagnosis check_costs(shape const& s, int chunk_count);

// The least span found under `limit` chunk activations a device, beginning with `start`; of those, the
// least makespan. Ends at a schedule of span `least`. Passes may start later than they could where that
// makes the span shorter.
schedule least_idle(schedule start, shape const& s, int limit, tick least);

// A schedule with split backwards on the V-shaped placement. Qi et al., Zero Bubble Pipeline Parallelism
// (2023), appendix: ZBV for 2p.
schedule zero_bubble_v(shape const& s, int limit);

// A schedule with split backwards on a chain of devices. Qi et al., Zero Bubble Pipeline Parallelism
// (2023), section 3: ZB-1p and ZB-2p for p and 2p.
schedule zero_bubble(shape const& s, int limit);

}  // namespace ashlar::catalog

#ifndef ASHLAR_COMPILED
#include <ashlar/catalog/searched.ipp>
#endif
