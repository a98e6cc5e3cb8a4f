#include "options/effects.hpp"

#include "command.hpp"
#include "options/number_option.hpp"
#include <ashlar/catalog/searched_entries.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace tool {

namespace {

using ashlar::parameter;

constexpr std::pair<char const*, parameter> parameter_options[] = {
    {"--chunks", parameter::chunk_count},         {"--waves", parameter::wave_count},
    {"--routes", parameter::route_count},         {"--rounds", parameter::round_count},
    {"--group", parameter::group_size},           {"--sequence-chunks", parameter::sequence_chunk_count},
    {"--unit-junction", parameter::unit_junction}};

std::string names_with(parameter which) {
  std::string all;
  for (ashlar::catalog::entry const* e : ashlar::catalog::all_entries)
    if (e->uses(which)) all += fmt::format("{}{}", all.empty() ? "" : ", ", e->name);
  return all;
}

bool has_several_stages_per_device(ashlar::placement const& where) {
  std::vector<int> of(static_cast<std::size_t>(where.device_count()), -1);
  for (int route = 0; route < where.route_count(); ++route)
    for (int stage = 0; stage < where.stage_count(); ++stage) {
      int& one = of[static_cast<std::size_t>(where.device_of(route, stage))];
      if (one >= 0 && one != stage) return true;
      one = stage;
    }
  return false;
}

bool sums_over_several(ashlar::program const& p) {
  if (p.data_ranks > 1) return true;
  for (int g = 0; g < p.groups.count(); ++g)
    if (p.groups.holders(g).size() > 1) return true;
  return false;
}

std::string forwards_only(std::string const& names) {
  return fmt::format("on {}: there are forwards only", names);
}

}  // namespace

bool is_given(CLI::App const& command, char const* option) {
  CLI::Option const* const found = command.get_option_no_throw(option);
  return found != nullptr && found->count() > 0;
}

void must_have_effect(CLI::App const& command, std::vector<effect> const& all) {
  for (effect const& e : all)
    if (!e.is_there && is_given(command, e.option))
      throw usage_error(fmt::format(
          "{} has no effect {}",
          option_name(command.get_option_no_throw(e.option)->get_name(false, true)), e.where));
}

std::vector<effect> effects_on(std::vector<ashlar::catalog::entry const*> const& entries,
                               std::string const& names) {
  std::vector<effect> all;
  for (auto const& [option, which] : parameter_options)
    all.push_back(
        {option,
         std::any_of(entries.begin(), entries.end(), [w = which](auto const* e) { return e->uses(w); }),
         fmt::format("on {}: it is for {}", names, names_with(which))});
  return all;
}

pass_traits traits_of(std::vector<ashlar::schedule const*> const& all) {
  pass_traits traits;
  for (ashlar::schedule const* const s : all) {
    traits.cuts_sequences = traits.cuts_sequences || s->graph.sequence_chunks() > 1;
    traits.trains = traits.trains || s->mode == ashlar::execution_mode::training;
    for (auto const& order : s->order)
      for (ashlar::timed_pass const t : ashlar::each_pass(order)) {
        traits.overlaps = traits.overlaps || t.slot->is_pair();
        traits.recomputes = traits.recomputes || t.what.kind == ashlar::pass_kind::recompute;
      }
  }
  return traits;
}

std::vector<effect> effects_on(pass_traits const& traits, std::string const& names) {
  std::string const forwards = forwards_only(names);
  return {
      {"--overlapped", traits.overlaps, fmt::format("on {}: no passes overlap in pairs there", names)},
      {"--checkpoint", traits.recomputes, fmt::format("on {}: nothing is recomputed there", names)},
      {"--causal", traits.cuts_sequences, fmt::format("on {}: sequences are whole there", names)},
      {"--backward-input", traits.trains, forwards},
      {"--backward-weight", traits.trains, forwards}};
}

std::vector<effect> effects_on(ashlar::lower_options const& lowering, ashlar::schedule const& s,
                               std::string const& name) {
  using enum ashlar::sharding_level;
  auto const level = lowering.sharding;
  bool const trains = s.mode == ashlar::execution_mode::training;
  return {{"--weight-buffers", level == gradients || level == weights || level == full,
           "without --sharding gradients, weights or full"},
          {"--prefetch", level != none, "without --sharding"},
          {"--optimizer-step", trains, forwards_only(name)},
          {"--reduction", trains && has_several_stages_per_device(s.where),
           fmt::format("on {}: no device has a gradient to reduce before its last pass", name)}};
}

std::vector<effect> effects_on(ashlar::simulation_options const& how, ashlar::program const& low,
                               std::string const& name) {
  ashlar::interconnect const& links = how.cost.on.links;
  bool const nodes = links.node_size > 0 && links.node_size < low.device_count();
  bool has_latency = false;
  for_each_link(links, [&](ashlar::link_speed const& l) { has_latency = has_latency || l.latency > 0; });
  ashlar::stage_memory const& bytes = how.memory.stages[0];
  bool const messages =
      std::any_of(how.memory.stages.begin(), how.memory.stages.end(),
                  [](ashlar::stage_memory const& each) { return each.activation > 0; });
  std::string const forwards = forwards_only(name);
  std::string const alone =
      fmt::format("on {}: gradients are not summed over devices or --data-ranks", name);
  return {{"--inter-latency", nodes, "without several nodes: --node-size"},
          {"--inter-bandwidth", nodes, "without several nodes: --node-size"},
          {"--node-size", nodes && links.inside != links.between,
           nodes ? "without --inter-latency or --inter-bandwidth" : "with no more devices than that"},
          {"--bandwidth", messages, "without --bytes"},
          {"--inter-bandwidth", messages, "without --bytes"},
          {"--latency-in-flight", has_latency, "without --latency or --link"},
          {"--ring-latency", sums_over_several(low), alone},
          {"--ring-bandwidth", sums_over_several(low), alone},
          {"--ring-bandwidth",
           bytes.weight_gradient > 0 || bytes.weights > 0 || how.memory.shared[0].weight_gradient > 0,
           "without --gradient-bytes or --weight-bytes"},
          {"--optimizer-ticks", low.step != ashlar::optimizer_step::none, "without --optimizer-step"},
          {"--weight-stash-bytes", low.mode == ashlar::execution_mode::training, forwards},
          {"--gradient-bytes", low.mode == ashlar::execution_mode::training, forwards},
          {"--sequence-state-bytes", low.graph.sequence_chunks() > 1,
           fmt::format("on {}: its sequences are whole", name)}};
}

std::vector<char const*> const& cost_flags() {
  static std::vector<char const*> const all = {
      "--costs",           "--per-stage", "--per-micro-batch", "--forward", "--backward-input",
      "--backward-weight", "--transfer",  "--overlapped",      "--speeds",  "--causal"};
  return all;
}

}  // namespace tool
