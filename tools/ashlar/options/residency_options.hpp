// The options that say how many stages may be whole on a device, where weights are in shards.
#pragma once

#include <ashlar/search/residency.hpp>

#include <CLI/CLI.hpp>

#include <optional>

namespace tool {

struct residency_options {
  long long stages = 0;           // 0: no plan
  ashlar::byte_count limit = -1;  // below 0: none
  ashlar::shard_home shards = ashlar::shard_home::device;
};

// A plan, and the step that PyTorch's rule gives with three stages.
struct planned_weights {
  ashlar::residency_choice chosen, by_pytorch;
};

void add_residency_options(CLI::App& command, residency_options& options);

// Chooses a plan, if the options ask for one. Throws usage_error for options without effect, and if no
// plan keeps the limit.
std::optional<planned_weights> plan_weights(CLI::App const& command, residency_options const& options,
                                            ashlar::schedule const& s,
                                            ashlar::lower_options const& lowering,
                                            ashlar::simulation_options const& how);

}  // namespace tool
