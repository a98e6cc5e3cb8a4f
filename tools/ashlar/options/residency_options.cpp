#include "options/residency_options.hpp"

#include "command.hpp"
#include "options/byte_options.hpp"
#include "options/choice.hpp"
#include "options/effects.hpp"
#include "options/limits.hpp"
#include "options/number_option.hpp"
#include <ashlar/schedule/residency_rules.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace tool {

void add_residency_options(CLI::App& command, residency_options& o) {
  add_number(
      command, "--resident", o.stages, 0, most_passes,
      "the most stages whose weights a device has whole at once; which they are, and when they are "
      "gathered, is chosen for the shortest step; 0 (default): as --weight-buffers and --prefetch "
      "say");
  add_bytes(command, "--limit-bytes", o.limit, "the most that a device may hold, for --resident");
  using enum ashlar::shard_home;
  add_choice<ashlar::shard_home>(
      command, "--shards", o.shards, {{"device", device}, {"host", host}},
      "where shards of weights, of gradients and of the optimizer's state lie: on the device (default), "
      "or on its host, from which gathers copy and to which scatters do");
}

std::optional<planned_weights> plan_weights(CLI::App const& command, residency_options const& o,
                                            ashlar::schedule const& s,
                                            ashlar::lower_options const& lowering,
                                            ashlar::simulation_options const& how) {
  bool const is_sharded = lowering.sharding != ashlar::sharding_level::none;
  must_have_effect(command, {{"--resident", is_sharded, "without --sharding"},
                             {"--shards", is_sharded, "without --sharding"},
                             {"--limit-bytes", o.stages > 0, "without --resident"},
                             {"--prefetch", o.stages == 0, "with --resident"}});
  if (o.stages == 0) return std::nullopt;
  ashlar::residency_limit limit{.stages = static_cast<int>(o.stages)};
  if (o.limit >= 0) limit.budgets = {o.limit};
  planned_weights made{ashlar::choose_residency(s, lowering, how, limit),
                       ashlar::simulated_residency(s, lowering, how, ashlar::planned_residency(s, {}))};
  if (!made.chosen.fits()) {
    auto const most = *std::max_element(made.chosen.peak.begin(), made.chosen.peak.end());
    throw usage_error(
        fmt::format("no plan keeps --limit-bytes: the least found takes {}", rounded_bytes(most)));
  }
  return made;
}

}  // namespace tool
