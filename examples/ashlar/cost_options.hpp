// The options that say how long passes and transfers take.
#pragma once

#include <ashlar/core/cost.hpp>

#include <CLI/CLI.hpp>

#include <string>

namespace tool {

struct cost_options {
  long long forward = 1;
  long long backward_input = 1;
  long long backward_weight = 1;
  long long transfer = 0;
  std::string per_stage = {};  // a file; empty: all stages alike

  friend bool operator==(cost_options const&, cost_options const&) = default;
};

void add_cost_options(CLI::App& command, cost_options& options);

// Throws usage_error for files that are no costs.
ashlar::costs costs_of(cost_options const& options);

}  // namespace tool
