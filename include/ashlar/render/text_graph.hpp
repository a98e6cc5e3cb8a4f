// A stage graph in words.
#pragma once

#include <ashlar/model/placement.hpp>
#include <ashlar/model/stage_graph.hpp>

#include <string>

namespace ashlar {

// A line a stage: its devices, by route, the size of its micro-batches where sizes differ, and the
// stages after it.
inline std::string text(stage_graph const& graph, placement const& where) {
  std::string all;
  for (int stage = 0; stage < graph.count(); ++stage) {
    all += "stage " + std::to_string(stage);
    for (int r = 0; r < where.route_count(); ++r)
      all += (r == 0 ? " on device " : " and ") + std::to_string(where.device_of(r, stage));
    if (graph.has_sizes()) all += ", micro-batches of " + std::to_string(graph.size_of(stage));
    char const* next = " -> ";
    for (int after : graph.successors(stage)) {
      all += next + std::to_string(after);
      next = ", ";
    }
    all += '\n';
  }
  return all;
}

}  // namespace ashlar
