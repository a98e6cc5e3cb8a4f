// The options that say which schedule is meant: its name, its size, its costs.
#pragma once

#include <ashlar/catalog.hpp>

#include <CLI/CLI.hpp>

#include <string>

namespace tool {

struct shape_options {
  std::string name = {};
  long long p = 4;
  long long m = 8;
  long long forward = 1;
  long long backward_input = 1;
  long long backward_weight = 1;
  long long transfer = 0;
  std::string per_stage = {};
};

void add_shape_options(CLI::App& command, shape_options& options);

struct chosen_schedule {
  ashlar::catalog::entry const* entry;
  ashlar::block block;
  ashlar::schedule schedule;
};

// Throws usage_error for an unknown name, sizes out of range, or costs that do not fit.
chosen_schedule choose(shape_options const& options);

}  // namespace tool
