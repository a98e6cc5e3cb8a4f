// Schedules side by side: the same model on the same devices, whatever each schedule makes of it.
#pragma once

#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/catalog/entries.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

namespace ashlar {

// What one schedule makes of a model. Ticks are those of `stage_cost` for a p-th of the model; stages of
// another size take their share of it.
struct comparison {
  catalog::entry const* entry = nullptr;
  int device_count = 0;
  int stage_count = 0;
  int micro_batch_count = 0;  // as the schedule counts them: sequence chunks are on their own
  double makespan = 0;
  double span = 0;
  double bubble_rate = 0;            // of the makespan
  double bubble_rate_span = 0;       // of the span
  std::vector<double> peaks = {};    // most activations that each device holds, as a share of the most
                                     // that one of 1F1B does: p micro-batches of a p-th of the model
  double weight_copies = 0;          // of the whole model, on all devices together
  int transfers = 0;                 // between devices, in a step
  double exposed_communication = 0;  // makespan less what it were if transfers took no time
  bool has_task = false;
  workload task = {};  // what a bound is for, if there is one
  tick unit = 1;       // so many ticks of the task are one of the above
};

// No schedule of the same stages on the same devices, with the memory of the one that is compared, takes
// fewer ticks. Apart from `compare` because it takes longer.
struct compared_bound {
  double makespan = 0, span = 0;
};
constexpr std::optional<compared_bound> comparison_bound(comparison const& c) {
  if (!c.has_task) return std::nullopt;
  bound const b = workload_bound(c.task);
  return compared_bound{static_cast<double>(b.makespan) / static_cast<double>(c.unit),
                        static_cast<double>(b.span) / static_cast<double>(c.unit)};
}

// Messages between devices in a step. Linear in micro-batches times edges.
constexpr int count_transfers(schedule const& s) {
  int count = 0;
  for (int route : s.route)
    for (int from = 0; from < s.stage_count(); ++from)
      for (int to : s.graph.successors(from))
        if (s.where.device_of(route, from) != s.where.device_of(route, to))
          count += s.mode == execution_mode::training ? 2 : 1;
  return count;
}

// How many times the devices hold the whole model's weights.
constexpr double count_weight_copies(placement const& where) {
  std::size_t held = 0;
  parameter_groups const groups(where);
  for (int stage = 0; stage < where.stage_count(); ++stage) held += groups.holders(stage).size();
  return static_cast<double>(held) / where.stage_count();
}

// The shape with the nearest number of devices that the entry is for: one device for what is no
// pipeline.
constexpr catalog::shape fitting(catalog::entry const& e, catalog::shape s) {
  if (diagnosis const d = e.check(s);
      d.broken == rule::parameter_is_at_most && d.which == parameter::device_count)
    s.p = devices{static_cast<int>(d.number)};
  return s;
}

// `s.cost` holds the ticks of a p-th of the model, alike for all, where p is the s.p asked for.
// Throws violation as entry::make does.
constexpr comparison compare(catalog::entry const& e, catalog::shape s) {
  int const p = s.p.value;
  costs cost = s.cost;
  stage_cost& share = cost.per_stage[0];
  s = fitting(e, s);
  s.cost = {};
  if (auto const count = static_cast<std::size_t>(s.p.value); cost.speeds.size() > count)
    cost.speeds.resize(count);
  schedule const unit_made = e.make(s);
  int const stage_count = unit_made.stage_count();

  // Time in units small enough that a stage of any size takes whole ones: a stage, of what the schedule
  // counts as a micro-batch (a sequence chunk, a half), is part / unit of a p-th of the model.
  int const pieces = stage_count * (unit_made.micro_batch_count() / s.m.value);
  tick const unit = pieces / std::gcd(pieces, p), part = p / std::gcd(pieces, p);
  share = {.forward = share.forward * part,
           .backward_input = share.backward_input * part,
           .backward_weight = share.backward_weight * part,
           .recompute = share.of(pass_kind::recompute) * part};
  stretch_transfers(cost, unit);
  s.cost = cost;
  schedule const made = e.make(s);
  auto const in_ticks = [&](tick t) { return static_cast<double>(t) / static_cast<double>(unit); };

  comparison c{.entry = &e,
               .device_count = made.device_count(),
               .stage_count = stage_count,
               .micro_batch_count = made.micro_batch_count(),
               .makespan = in_ticks(makespan(made)),
               .span = in_ticks(span(made)),
               .bubble_rate = bubble_rate(made),
               .bubble_rate_span = bubble_rate_span(made),
               .weight_copies = count_weight_copies(made.where),
               .transfers = count_transfers(made),
               .has_task = has_workload(made),
               .unit = unit};
  if (c.has_task) c.task = workload_of(made);
  cost.links = {};
  c.exposed_communication = c.makespan - in_ticks(makespan(retime(made, cost)));
  for (int peak : peak_activations(made)) c.peaks.push_back(static_cast<double>(peak) / pieces);
  return c;
}

}  // namespace ashlar
