// The options that say which model is laid out on which devices, and how, for searches.
#pragma once

#include "options/cost_options.hpp"
#include "options/link_option.hpp"
#include <ashlar/search/portfolio.hpp>

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace tool {

struct layout_options {
  long long p = 4;
  long long m = 8;
  cost_options cost = {};
  late_links late = {};  // their delays are among `cost.others`
  std::string placement = "any";
  long long v = 0;                                // as many chunks as the placement has by itself
  std::optional<ashlar::placement> own = {};      // in place of `placement`, `p` and `v`
  std::optional<ashlar::costs> own_cost = {};     // in place of `cost`, on it
  std::optional<ashlar::stage_graph> graph = {};  // of the stages of `own`, if they are no chain
  time_scale own_scale = {};
  CLI::Option const* devices_option = nullptr;
  CLI::Option const* placement_option = nullptr;
  std::string checkpoint = "";  // what of an activation a recompute leaves, of all stages or of each;
                                // empty: none recomputes
  std::vector<std::vector<int>> recomputed = {};  // sets of stages to try; empty: the usual ones
  long long sequence_chunks = 1;
};

void add_layout_options(CLI::App& command, layout_options& options);

// Reads a placement that is a list; then `p` is its number of devices. Throws usage_error, also for
// another number given, and for several routes.
void complete_placement(layout_options& options);

// The scale of the costs that count.
time_scale scale_of(layout_options const& options);

// The costs of the command line on its links, with the delays of late links. Throws usage_error as
// costs_of(cost_options) does, and for a link that is not between two of the devices.
ashlar::costs costs_of(layout_options const& options);

// Whether these are costs of a p-th of the model, so that a stage of a layout has its part of them. They
// are not if a file or a start has those of each stage, or if stages are no chain. Throws as costs_of().
bool has_shared_costs(layout_options const& options);

// The layouts asked for, each with a limit of 1F1B's activations. Throws usage_error for too many
// passes and options that do not go together.
std::vector<ashlar::layout_choice> layouts_of(layout_options const& options);

// The ways in which one of them may be varied. Throws usage_error.
ashlar::variety variety_of(layout_options const& options, ashlar::layout_choice const& plain);

// Reads a share of an activation, like 0.06 or 6%, in whole percents, rounded up. Throws usage_error,
// naming the option, if it is none or not below 1.
int percent_kept(char const* option, std::string const& text);

// Memory is counted in millionths of what 1F1B holds: p micro-batches of a p-th of the model.
inline constexpr long long whole_memory = 1'000'000;

// Reads a number, or a percentage with its sign, in millionths. Throws usage_error, naming the option.
long long read_memory(char const* option, std::string const& text);

// The memory that a device of this layout may hold then, in the unit of its memory; chunk activations
// are rounded down.
long long part_of(long long memory, long long whole);
long long limit_of(ashlar::layout_choice const& choice, long long memory);

// The share of 1F1B's activations that `memory` is, in the unit of the layout's memory.
double share_of(ashlar::layout_choice const& choice, double memory);

}  // namespace tool
