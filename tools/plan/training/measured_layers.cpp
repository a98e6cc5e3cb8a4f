#include <ashlar/core/nth.hpp>
#include <ashlar/plan/training/measured_layers.hpp>

namespace ashlar {

std::vector<stage_seconds> stage_times(node_cluster const& cluster, measured_model const& model,
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

}  // namespace ashlar
