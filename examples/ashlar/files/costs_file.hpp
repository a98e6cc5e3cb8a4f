// The file of --costs, which `ashlar profile` writes.
#pragma once

#include "options/durations.hpp"
#include <ashlar/core/cost.hpp>

#include <string>

namespace tool {

// By the names of its fields: what a stage has in this order.
inline constexpr char const* measured_passes[] = {"forward", "backward_input", "backward_weight",
                                                  "recompute"};

// In ticks.
struct costs_file {
  std::string path;
  ashlar::costs cost;
  ashlar::link_speed ring;
  time_scale scale;
};

// The tick is the longest power of ten of a nanosecond of which the shortest pass has a thousand at
// least, so that rounding is less than what measuring leaves open. Throws usage_error, with the place,
// for what is no such file.
costs_file read_costs(std::string const& path);

}  // namespace tool
