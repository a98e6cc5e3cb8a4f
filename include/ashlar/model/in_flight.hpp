// How much of a batch the stages of a graph must hold at once so that none of them waits needlessly.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/stage_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// Stages on the longest path through each stage's successors, itself included, by stage: 1 for a sink.
// Linear in the edges.
constexpr std::vector<int> heights(stage_graph const& graph) {
  std::vector<int> found(static_cast<std::size_t>(graph.count()), 1);
  for (int stage = graph.count(); stage-- > 0;)
    for (int after : graph.successors(stage)) {
      int& own = nth(found, stage);
      own = max_of(own, nth(found, after) + 1);
    }
  return found;
}

// Stages on the longest path: what a micro-batch goes through at least, one after another.
constexpr int depth(stage_graph const& graph) {
  int most = 0;
  for (int height : heights(graph)) most = max_of(most, height);
  return most;
}

// Units that each stage has in flight if it takes k forwards and k backwards in turn (kFkB), with `k` by
// stage. Let b be the size of a stage's micro-batches. Then w = k b for a sink. For any other stage i, w
// is the largest, over the stages j after it, of w_j + max(k_i b_i, k_j b_j). The formula is ours. It
// gives what the strategies published with GraphPipe (Jeon et al., 2024, arXiv 2406.17145) hold, and the
// example of its figure 5. Throws violation: rule::tables_agree unless there is one k for each stage,
// rule::counts_are_positive. Linear in the edges.
constexpr std::vector<std::int64_t> in_flight(stage_graph const& graph, std::vector<int> const& k) {
  if (static_cast<int>(k.size()) != graph.count())
    refuse(wrong_size(table::in_flight_counts, k.size(), graph.count()));
  std::vector<std::int64_t> units(k.size(), 0);
  auto const turn = [&](int stage) { return std::int64_t{nth(k, stage)} * graph.size_of(stage); };
  for (int stage = graph.count(); stage-- > 0;) {
    auto const s = static_cast<std::size_t>(stage);
    if (k[s] < 1)
      refuse({.broken = rule::counts_are_positive, .first = {.what = {.stage = stage}}, .number = k[s]});
    units[s] = turn(stage);
    for (int after : graph.successors(stage))
      units[s] = max_of(units[s], nth(units, after) + max_of(turn(stage), turn(after)));
  }
  return units;
}

// Units in flight for 1F1B: k is 1 for all stages.
constexpr std::vector<std::int64_t> in_flight(stage_graph const& graph) {
  return in_flight(graph, std::vector<int>(static_cast<std::size_t>(graph.count()), 1));
}

}  // namespace ashlar
