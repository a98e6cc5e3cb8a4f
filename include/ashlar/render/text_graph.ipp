// Definitions of text_graph.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/render/text_graph.hpp>

namespace ashlar {

ASHLAR_INLINE std::string text(stage_graph const& graph, placement const& where) {
  if (graph.count() > where.stage_count())
    refuse(wrong_size(table::stages_of_graph, graph.count(), where.stage_count()));
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
