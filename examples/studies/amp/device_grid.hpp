// The role of each device when a model is split three ways, and the links between the parts.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>

#include <vector>

namespace amp {

using namespace ashlar;

// tensor x data x pipeline devices, numbered with tensor fastest, then data, then pipeline, as in
// Megatron.
struct device_grid {
  int tensor = 1;
  int data = 1;
  int pipeline = 1;

  int device_count() const { return tensor * data * pipeline; }
  int stage_size() const { return tensor * data; }  // devices of a stage
  int device(int stage, int data_rank, int tensor_rank) const {
    return (stage * data + data_rank) * tensor + tensor_rank;
  }

  friend constexpr bool operator==(device_grid const&, device_grid const&) = default;
};

// Links of one node, in units of data per second.
struct node_links {
  double between = 0;  // to other nodes
  double inside = 0;

  friend constexpr bool operator==(node_links const&, node_links const&) = default;
};

// Nodes of equally many devices. Devices are numbered through all nodes.
struct node_cluster {
  std::vector<node_links> nodes;
  int node_size = 1;

  // The node of a device, and the links of its node.
  int node_of(int device) const { return device / node_size; }
  node_links const& links_of(int device) const { return nth(nodes, node_of(device)); }
  // Bandwidth between two devices: inside their node, or the slower of the two nodes' links.
  double link(int a, int b) const {
    return node_of(a) == node_of(b) ? links_of(a).inside
                                    : min_of(links_of(a).between, links_of(b).between);
  }

  friend constexpr bool operator==(node_cluster const&, node_cluster const&) = default;
};

// Seconds for a unit of data from each device of a stage to its counterpart of the next, all at once:
// the messages that leave one node share its link to the others. O(devices of a stage, squared).
inline double hop_time(node_cluster const& cluster, device_grid const& grid, int stage) {
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

// Seconds for the data ranks of a stage to sum a unit of data in rings, one for each tensor rank, at the
// pace of the slowest link; the rings that leave a node share its link. 0 for a single rank.
inline double ring_sum_time(node_cluster const& cluster, device_grid const& grid, int stage) {
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

}  // namespace amp
