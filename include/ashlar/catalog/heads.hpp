// Stage graphs of models with several losses: parallel heads, or prediction layers.
#pragma once

#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/model/stage_graph.hpp>

#include <vector>

namespace ashlar::catalog {

// How the heads of a model follow its trunk. Each has a loss of its own.
enum class head_order : unsigned char {
  side_by_side,      // each reads the trunk: Gloeckle et al., Better & Faster Large Language Models via
                     // Multi-token Prediction (2024)
  one_after_another  // the second reads the trunk, too, and each later one what the one before it made:
                     // the prediction layers of DeepSeek-V3 (DeepSeek-AI, 2024)
};

// A chain of `count` stages, the trunk, and after it `heads` stages with losses, in this order. The
// backward of the trunk's last stage waits for those of all heads that read it. Throws violation:
// rule::counts_are_positive, rule::parameter_is_at_most for more than most_stages, and as stage_graph
// does.
constexpr stage_graph chain_with_heads(stages count, int heads,
                                       head_order order = head_order::side_by_side) {
  if (count.value < 0 || heads < 0)
    refuse({.broken = rule::counts_are_positive, .number = count.value < 0 ? count.value : heads});
  must_be(at_most(parameter::stage_count, tick{count.value} + heads, most_stages));
  std::vector<stage_edge> edges;
  for (int s = 0; s + 1 < count.value; ++s) edges.push_back({s, s + 1});
  for (int head = 0; head < heads; ++head) {
    bool const reads_trunk = order == head_order::side_by_side || head < 2;
    edges.push_back({reads_trunk ? count.value - 1 : count.value + head - 1, count.value + head});
  }
  return stage_graph(stages{count.value + heads}, edges);
}

}  // namespace ashlar::catalog
