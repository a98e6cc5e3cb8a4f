// Costs that `ashlar profile` has measured, as the file that it writes.
#pragma once

#include "files/costs_file.hpp"
#include "report/spread.hpp"
#include <ashlar/core/cost.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <optional>
#include <vector>

namespace tool {

// Each message takes `latency` and the time of its bytes.
struct measured_link {
  spread latency;
  double bytes_per_second = 0;  // 0: the bytes take no time that could be measured
};

struct measured_costs {
  nlohmann::ordered_json about = {};                       // what was measured, and where
  std::vector<std::array<spread, 4>> stages = {};          // by pass, as `measured_passes`
  ashlar::byte_count message = 0;                          // of a transfer
  int node_size = 0;                                       // as of an interconnect
  std::optional<measured_link> inside = {}, between = {};  // nodes
  std::optional<measured_link> ring = {};                  // a step of a sum over data-parallel ranks
};

nlohmann::ordered_json json_of(measured_costs const& measured);

}  // namespace tool
