// Measured times of a backend's passes, transfers and sums.
#pragma once

#include <ashlar/core/cost.hpp>
#include <ashlar/run/measured_time.hpp>

#include <array>
#include <optional>
#include <vector>

namespace ashlar {

// Each message takes `latency` and the time of its bytes.
struct measured_link {
  measured_time latency = {};
  double bytes_per_second = 0;  // 0: the bytes take no measurable time
};

// Measured costs. Times are nanoseconds, sizes bytes.
struct measured_costs {
  // By stage: its forward, input, weight and recompute passes; without samples, the stage has no such
  // pass.
  std::vector<std::array<measured_time, 4>> stages = {};
  byte_count message = 0;                                  // of a transfer
  int node_size = 0;                                       // as in an interconnect
  std::optional<measured_link> inside = {}, between = {};  // nodes
  std::optional<measured_link> ring = {};                  // a step of a sum over data-parallel ranks
};

}  // namespace ashlar
