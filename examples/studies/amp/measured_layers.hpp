// Plans for layers with measured times, on nodes of different devices: each stage is as fast as its
// slowest device, its messages use the actual links.
#pragma once

#include "../formulas/simulated_step.hpp"
#include "device_grid.hpp"
#include "model.hpp"
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>

#include <cstddef>
#include <vector>

namespace amp {

using namespace ashlar;
using namespace formulas;

// Seconds of a forward of one sample, on one device and on each of those that it is split over. Only
// forwards were measured, so these are not pass_seconds.
struct measured_layer {
  double alone = 0;
  double split = 0;
  double exchange = 0;  // between tensor ranks, in units of data that a rank moves per sample
};

// Seconds of a micro-batch. Ranks divide the compute, exchanges take their link's time. The rest of the
// measured time of one sample is taken for launches and latencies, which do not grow with the
// micro-batch.
inline double micro_batch_time(measured_layer const& l, double link, int tensor, int samples) {
  double const each = l.alone / tensor + l.exchange / link;
  return samples * each + max_of(0.0, l.split - each);
}

// Lists of measured layers, and the list that holds on each node.
struct measured_model {
  std::vector<std::vector<measured_layer>> kinds;
  std::vector<std::size_t> kind_of_node;
  std::vector<amp_layer> layers;  // outputs and parameters, in the links' units of data
};

// Times of each stage of the plan. A backward takes twice a forward.
inline std::vector<stage_seconds> stage_times(node_cluster const& cluster, measured_model const& model,
                                              amp_plan const& plan) {
  std::vector<stage_seconds> made;
  device_grid const& g = plan.grid;
  int first = 0;
  for (int stage = 0; stage < g.pipeline; ++stage) {
    int const end = first + nth(plan.sizes, stage);
    stage_seconds s;
    int const from = cluster.node_of(stage * g.stage_size()),
              to = cluster.node_of((stage + 1) * g.stage_size() - 1);
    for (int node = from; node <= to; ++node) {
      auto const n = static_cast<std::size_t>(node);
      double sum = 0;
      for (int i = first; i < end; ++i)
        sum += micro_batch_time(nth(model.kinds[model.kind_of_node[n]], i), cluster.nodes[n].inside,
                                g.tensor, plan.micro_batch);
      s.passes.forward = max_of(s.passes.forward, sum);
    }
    s.passes.backward = 2 * s.passes.forward;
    if (stage + 1 < g.pipeline)
      s.send = nth(model.layers, end - 1).output * plan.micro_batch * hop_time(cluster, g, stage);
    s.reduction =
        stage_parameters(model.layers, first, end - first) / g.tensor * ring_sum_time(cluster, g, stage);
    made.push_back(s);
    first = end;
  }
  return made;
}

}  // namespace amp
