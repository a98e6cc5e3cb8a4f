// Definitions of timeline_difference.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/model/dependencies.hpp>
#include <ashlar/model/pass_table.hpp>
#include <ashlar/model/stage_graph.hpp>
#include <ashlar/study/timeline_difference.hpp>

#include <cstddef>

namespace ashlar {

ASHLAR_INLINE std::vector<path_difference> path_of_difference(std::vector<paired_pass> const& passes,
                                                              int stage_count, int micro_batch_count) {
  constexpr auto nobody = static_cast<std::size_t>(-1);
  std::vector<path_difference> path;
  if (passes.empty()) return path;
  for (int count : {stage_count, micro_batch_count})
    if (count < 1) refuse({.broken = rule::counts_are_positive, .number = count});
  must_be(at_most(parameter::stage_count, stage_count, most_passes / micro_batch_count));
  stage_graph const graph = chain(stages{stage_count});
  for (paired_pass const& p : passes) {
    site const at{.device = p.device, .what = p.what};
    if (!graph.has(p.what, micro_batch_count))
      refuse({.broken = rule::every_pass_is_known, .first = at});
    for (tick time : {p.start, p.end, p.planned_start, p.planned_end})
      if (time <= -max_tick / 4 || time >= max_tick / 4)
        refuse({.broken = rule::ticks_fit, .first = at, .number = time});
  }
  pass_table<std::size_t> giver(stage_count, micro_batch_count, {}, nobody);
  std::size_t at = 0;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    giver.at(passes[i].what) = i;
    if (passes[i].end > passes[at].end) at = i;
  }
  std::vector<std::size_t> before(passes.size(), nobody);  // on the same device
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < passes.size(); ++i) order.push_back(i);
  merge_sort(order, [&](std::size_t a, std::size_t b) {
    if (passes[a].device != passes[b].device) return passes[a].device < passes[b].device;
    return passes[a].start < passes[b].start || (passes[a].start == passes[b].start && a < b);
  });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (passes[order[i - 1]].device == passes[order[i]].device) before[order[i]] = order[i - 1];

  while (at != nobody && path.size() < passes.size()) {
    paired_pass const& self = passes[at];
    std::size_t last = before[at];
    for_each_input(graph, self.what, [&](result r, int stage, int micro_batch) {
      std::size_t const from = giver.at(micro_batch, stage, r);
      if (from != nobody && (last == nobody || passes[from].end > passes[last].end)) last = from;
    });
    tick const free = last == nobody ? 0 : passes[last].end;
    tick const planned_free = last == nobody ? 0 : passes[last].planned_end;
    path.push_back({.what = self.what,
                    .device = self.device,
                    .longer = (self.end - self.start) - (self.planned_end - self.planned_start),
                    .later = (self.start - free) - (self.planned_start - planned_free)});
    at = last;
  }
  reverse(path);
  return path;
}

}  // namespace ashlar
