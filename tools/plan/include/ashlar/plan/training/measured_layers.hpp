// Plans for layers with measured times, on nodes of different devices: each stage is as fast as its
// slowest device, its messages use the actual links.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/plan/training/amp.hpp>
#include <ashlar/plan/training/device_grid.hpp>
#include <ashlar/plan/training/simulated_step.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

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
std::vector<stage_seconds> stage_times(node_cluster const& cluster, measured_model const& model,
                                       amp_plan const& plan);

}  // namespace ashlar
