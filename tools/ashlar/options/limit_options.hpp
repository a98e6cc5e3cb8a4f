// The options that limit what devices hold: in chunk activations, as a share of 1F1B's, or in bytes.
#pragma once

#include "options/layout_options.hpp"
#include <ashlar/search/portfolio.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tool {

// The limit: `bytes` if there are any, else `activations` if there are any, else `memory`. Lists have
// one entry for all devices, or one each.
struct limit_options {
  std::vector<ashlar::byte_count> bytes = {};
  std::vector<long long> activations = {};
  std::string memory = "1";
  ashlar::stage_memory stage = {};  // of a p-th of the model
  std::string per_stage = {};       // a file with all of that for each stage; empty: all alike
  CLI::App const* command = nullptr;
};

void add_limit_options(CLI::App& command, limit_options& options);

// Checks which options go together; it depends on `placement`, too, and on whether stages have sizes
// from elsewhere. Throws usage_error.
void must_suit(limit_options const& options, std::string const& placement, bool are_sized);

// A list of limits has one entry for all devices, or one each. Throws usage_error.
void must_be_one_or_each(char const* option, std::size_t given, int device_count);

// The variants of a layout with the limit put on. Sizes are those of a p-th of the model, of which each
// stage takes its part, rounded up; stages that are no chain have them whole. Where layers are divided,
// stages have the sizes of their layers already. Micro-batches may have stashes of their own (`cost`).
// Throws usage_error for lists of another length.
std::vector<ashlar::layout_choice> limited(ashlar::layout_choice choice, limit_options const& options,
                                           cost_options const& cost, ashlar::variety const& how);

// Why a limit leaves no schedule, and the smallest limit for all devices that does: in a unit that all
// layouts share, in that of the limit, and in words.
struct shortfall {
  std::string why;
  double least = 0;
  double needed = 0;
  std::string words = {};
};
std::optional<shortfall> shortfall_of(ashlar::layout_choice const& choice, limit_options const& options);

// The limit in the unit in which it was given: "8,8,6,6", "24GiB"; a number or a list of them.
std::string words_of_limit(ashlar::layout_choice const& choice, limit_options const& options);
char const* unit_of_limit(ashlar::layout_choice const& choice, limit_options const& options);
nlohmann::ordered_json json_of_limit(ashlar::layout_choice const& choice, limit_options const& options);

// The most that a device may hold, as a share of what 1F1B would of its stages.
double share_of_limit(ashlar::layout_choice const& choice);

}  // namespace tool
