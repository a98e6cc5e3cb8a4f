// Which short argument gives a bound, for those who check it without this library.
#pragma once

#include <ashlar/bounds/bound_argument.hpp>
#include <ashlar/bounds/graph_bound.hpp>
#include <ashlar/bounds/lower_bound.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace ashlar {

namespace bounding_detail {

// Ticks of all passes of a device.
constexpr tick work_on(flow const& f, int d) {
  tick work = 0;
  for (int stage : f.on(d))
    for (int k = 0; k < f.step_count(); ++k) {
      tick extra = 0;
      for (int chunk = 0; chunk < f.sequence_chunks; ++chunk) extra += f.extra(k, stage, chunk);
      work += f.length(k, stage) * f.micro_batches_of(stage) + f.more(k, stage)
              + extra * (f.micro_batches_of(stage) / f.sequence_chunks);
    }
  return work;
}

}  // namespace bounding_detail

// An argument by which no schedule of a valid workload has a makespan, or a span, below `least` ticks;
// nothing if none of these says as much, or passes overlap. Takes as long as workload_bound().
constexpr std::optional<bound_argument> argument_of(workload const& w, tick least, bool is_span) {
  if (w.overlaps) return std::nullopt;
  bounding_detail::flow const f = bounding_detail::flow_of(w, {});
  for (int d = 0; d < f.device_count(); ++d)
    if (bounding_detail::work_on(f, d) >= least) return bound_argument{argument_kind::work, d};
  for (int d = 0; d < f.device_count(); ++d)
    if (area_on(w, d) >= least) return bound_argument{argument_kind::area, d};
  if (w.cost.passes.micro_batches() != 0 && (!is_span || w.mode == execution_mode::training))
    for (int k = 0; k < w.cost.passes.micro_batches(); ++k)
      if (way_of(w, k) >= least)
        return bound_argument{.by = argument_kind::path,
                              .device = w.where.device_of(0, is_span ? 0 : w.where.stage_count() - 1),
                              .from = {pass_kind::forward, is_span ? 0 : bound_argument::whole, k}};
  bounding_detail::flow const turned = bounding_detail::reversed(f);
  std::vector<int> origins = bounding_detail::origins(f);
  if (!is_span) origins.push_back(bound_argument::whole);
  for (std::size_t i = origins.size(); i-- > 0;) {
    bounding_detail::earliest_starts const forth(f, origins[i]), back(turned, origins[i]);
    for (int d = 0; d < f.device_count(); ++d)
      if (!f.on(d).empty()
          && bounding_detail::one_machine(bounding_detail::jobs_of(f, d, forth, back)) >= least)
        return bound_argument{.by = argument_kind::one_machine, .device = d, .origin = origins[i]};
  }
  return std::nullopt;
}

// An argument of a schedule that has a path bound, on any graph of stages: with any memory.
constexpr std::optional<bound_argument> argument_of(schedule const& s, tick least, bool is_span) {
  std::optional<bound_argument> found;
  for_each_path_argument(s, [&](bound_argument const& why, tick span, tick makespan) {
    if (!found && (is_span ? span : makespan) >= least) found = why;
  });
  return found;
}

}  // namespace ashlar
