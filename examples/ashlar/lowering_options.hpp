// The options that say how a schedule becomes a program: its data-parallel ranks, and what they share.
#pragma once

#include <ashlar/lower/lower.hpp>

#include <CLI/CLI.hpp>

namespace tool {

struct lowering_options {
  long long data_ranks = 1;
  long long weight_buffers = 1;
  long long prefetch = 1;
  bool tied = false;  // whether the first and the last stage use one embedding
  ashlar::lower_options rest = {};

  friend bool operator==(lowering_options const&, lowering_options const&) = default;
};

void add_sharing_options(CLI::App& command, lowering_options& options);
void add_tying_option(CLI::App& command, lowering_options& options);
// What is shared, and the optimizer's step.
void add_lowering_options(CLI::App& command, lowering_options& options);
void add_lanes_option(CLI::App& command, ashlar::transfer_lanes& lanes);

// For so many stages. Throws usage_error for shards that nobody shares.
ashlar::lower_options lowering_of(lowering_options const& options, int stage_count);

}  // namespace tool
