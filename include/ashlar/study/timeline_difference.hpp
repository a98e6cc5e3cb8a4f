// Why a timeline takes more or less time than another one of the same passes: which passes and which
// waits make the difference.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/model/dependencies.hpp>
#include <ashlar/model/pass_table.hpp>
#include <ashlar/model/stage_graph.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// A pass on a device, in a measured timeline and in the one that was planned.
struct paired_pass {
  pass what;
  int device = 0;
  tick start = 0, end = 0;
  tick planned_start = 0, planned_end = 0;

  friend constexpr bool operator==(paired_pass const&, paired_pass const&) = default;
};

// A pass by which a measured timeline differs from the plan.
struct path_difference {
  pass what;
  int device = 0;
  tick longer = 0;  // that it took
  tick later = 0;   // that it began after what it came after

  constexpr tick sum() const { return longer + later; }

  friend constexpr bool operator==(path_difference const&, path_difference const&) = default;
};

// The passes on the measured timeline's longest path, the first one first: from the one that ends last,
// each time to that which ended last of its inputs and the pass before it on its device. What they took
// longer and began later adds up to the difference between the ends of the last of them, measured and
// planned, both timelines from 0 on. Stages are a chain; passes are given in any order, each once; where
// they run before what they need, the path goes back no further than there are passes. O(n log n).
constexpr std::vector<path_difference> path_of_difference(std::vector<paired_pass> const& passes,
                                                          int stage_count, int micro_batch_count) {
  constexpr auto nobody = static_cast<std::size_t>(-1);
  std::vector<path_difference> path;
  if (passes.empty()) return path;
  stage_graph const graph = chain(stages{stage_count});
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
