// The options that say how long passes and transfers take.
#pragma once

#include <ashlar/core/cost.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace tool {

struct cost_options {
  long long forward = 1;
  long long backward_input = 1;
  long long backward_weight = 1;
  long long transfer = 0;
  std::string per_stage = {};    // a file; empty: all stages alike
  std::vector<int> speeds = {};  // of each device, in percent; empty: all alike

  friend bool operator==(cost_options const&, cost_options const&) = default;
};

void add_cost_options(CLI::App& command, cost_options& options);

// On p devices. Throws usage_error for speeds of another number of devices, and for files that are no
// costs.
ashlar::costs costs_of(cost_options const& options, long long p);

}  // namespace tool
