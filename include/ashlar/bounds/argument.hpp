// Which short argument gives a bound, for those who check it without this library.
#pragma once

#include <ashlar/bounds/lower_bound.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace ashlar {

// The work of a device alone; its passes with heads and tails, if they may be interrupted; or
// activations times lifespans.
enum class argument_kind : unsigned char { work, one_machine, area };

// An argument about the passes of one device.
struct bound_argument {
  static constexpr int whole = bounding::earliest_starts::whole;

  argument_kind by = argument_kind::work;
  int device = 0;
  int origin = whole;  // one_machine: the device from whose first start time counts, or `whole`

  friend constexpr bool operator==(bound_argument const&, bound_argument const&) = default;
};

// An argument by which no schedule of a valid workload has a makespan, or a span, below `least` ticks;
// nothing if none of these says as much. Micro-batches are whole and alike, and no passes overlap: for
// other workloads there is nothing. Takes as long as workload_bound().
constexpr std::optional<bound_argument> argument_of(workload const& w, tick least, bool is_span) {
  if (w.cost.passes.period() > 1 || w.sequence_chunks > 1 || w.overlaps) return std::nullopt;
  bounding::flow const f = bounding::flow_of(w, {});
  for (int d = 0; d < f.device_count(); ++d) {
    tick work = 0;
    for (int stage : f.on(d))
      for (int k = 0; k < f.step_count(); ++k) work += f.length(k, stage) * f.micro_batches_of(stage);
    if (work >= least) return bound_argument{argument_kind::work, d};
  }
  for (int d = 0; d < f.device_count(); ++d)
    if (area_on(w, d) >= least) return bound_argument{argument_kind::area, d};
  bounding::flow const turned = bounding::reversed(f);
  std::vector<int> origins = bounding::origins(f);
  if (!is_span) origins.push_back(bound_argument::whole);
  for (std::size_t i = origins.size(); i-- > 0;) {
    bounding::earliest_starts const forth(f, origins[i]), back(turned, origins[i]);
    for (int d = 0; d < f.device_count(); ++d)
      if (!f.on(d).empty() && bounding::one_machine(bounding::jobs_of(f, d, forth, back)) >= least)
        return bound_argument{argument_kind::one_machine, d, origins[i]};
  }
  return std::nullopt;
}

// The name of a kind of argument.
constexpr char const* name_of(argument_kind by) {
  switch (by) {
    case argument_kind::work:
      return "work";
    case argument_kind::one_machine:
      return "one machine";
    case argument_kind::area:
      return "area";
  }
  return "";
}

}  // namespace ashlar
