// The options that say how a schedule becomes a program: its data-parallel ranks, and what they share.
#pragma once

#include <ashlar/lower/lower.hpp>

#include <CLI/CLI.hpp>

#include <array>
#include <optional>
#include <utility>

namespace tool {

inline constexpr std::array lane_choices{
    std::pair{"one", ashlar::transfer_lanes::one},
    std::pair{"one-a-peer", ashlar::transfer_lanes::one_a_peer},
    std::pair{"one-a-direction", ashlar::transfer_lanes::one_a_direction},
    std::pair{"one-a-kind", ashlar::transfer_lanes::one_a_kind}};

struct lowering_options {
  long long data_ranks = 1;
  long long weight_buffers = 1;
  long long prefetch = 1;
  bool tied = false;  // whether the first and the last stage use one embedding
  ashlar::lower_options rest = {};
};

void add_sharing_options(CLI::App& command, lowering_options& options);
// Adds the options for the order of what is shared.
void add_order_options(CLI::App& command, lowering_options& options);
void add_step_option(CLI::App& command, lowering_options& options);
void add_tying_option(CLI::App& command, lowering_options& options);
// Adds all of the above but the tying.
void add_lowering_options(CLI::App& command, lowering_options& options);
void add_lanes_option(CLI::App& command, ashlar::transfer_lanes& lanes);
// For a prediction, in which transfers need not wait for each other.
void add_lanes_option(CLI::App& command, std::optional<ashlar::transfer_lanes>& lanes);

// Options of a lowering for these stages. Throws usage_error for shards that nobody shares, and for an
// embedding that is tied to an output layer in shards.
ashlar::lower_options lowering_of(lowering_options const& options, ashlar::stage_graph const& graph);

}  // namespace tool
