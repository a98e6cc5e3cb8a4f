#include <ashlar/plan/training/device_grid.hpp>

namespace ashlar {

double hop_time(node_cluster const& cluster, device_grid const& grid, int stage) {
  double slowest = 0;
  int const size = grid.stage_size(), first = stage * size;
  for (int a = first; a < first + size; ++a) {
    int at_once = 1;
    if (cluster.node_of(a) != cluster.node_of(a + size)) {
      at_once = 0;
      for (int b = first; b < first + size; ++b)
        if (cluster.node_of(b) == cluster.node_of(a) && cluster.node_of(b + size) != cluster.node_of(b))
          ++at_once;
    }
    slowest = max_of(slowest, at_once / cluster.link(a, a + size));
  }
  return slowest;
}

double ring_sum_time(node_cluster const& cluster, device_grid const& grid, int stage) {
  if (grid.data < 2) return 0;
  double slowest = 0;
  for (int t = 0; t < grid.tensor; ++t)
    for (int d = 0; d < grid.data; ++d) {
      int const a = grid.device(stage, d, t), b = grid.device(stage, (d + 1) % grid.data, t);
      bool const leaves = cluster.node_of(a) != cluster.node_of(b);
      slowest = max_of(slowest, (leaves ? grid.tensor : 1) / cluster.link(a, b));
    }
  return 2.0 * (grid.data - 1) / grid.data * slowest;
}

}  // namespace ashlar
