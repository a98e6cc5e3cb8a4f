// Definitions of json_certificate.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/json.hpp>
#include <ashlar/interop/json_certificate.hpp>

#include <optional>

namespace ashlar {

ASHLAR_INLINE std::string certificate_obstacle(schedule const& s) {
  if (!s.work.empty()) return "it has work beside the passes";
  if (!is_chain(s.graph)) return "its stages form no chain";
  if (s.graph.sequence_chunks() > 1) return "its sequences are in chunks";
  if (s.cost.passes.period() > 1) return "its micro-batches differ";
  if (!s.cost.on.speeds.empty()) return "its devices differ";
  interconnect const& links = s.cost.on.links;
  if (links.node_size > 0 || !links.wider.empty() || !links.exceptions.empty())
    return "its links differ";
  for (auto const& order : s.order)
    if (!order.empty() && order[0].start < 0) return "it starts before 0";
  return {};
}

ASHLAR_INLINE schedule_certificate certificate_of(schedule const& s, std::string_view name,
                                                  time_scale const& scale,
                                                  std::vector<claimed_bound> const& bounds) {
  using nlohmann::ordered_json;
  schedule_certificate made;
  ordered_json all{{"certificate", "schedule"}}, shown = ordered_json::array();
  all.update(to_json(s, name, scale));
  for (char const* key : {"makespan_bound", "makespan_gap", "span_bound", "span_gap"}) all.erase(key);
  for (claimed_bound const& claim : bounds) {
    std::optional<bound_argument> const why = argument_of(claim.of, claim.least, claim.is_span);
    if (!why) {
      made.without_argument.push_back(claim);
      continue;
    }
    ordered_json argument{{"by", name_of(why->by)}, {"device", why->device}};
    if (why->origin != bound_argument::whole) argument["origin"] = why->origin;
    ordered_json limits = ordered_json::array();
    for (int d = 0; d < claim.of.where.device_count(); ++d)
      limits.push_back(activations_on(claim.of, d));
    shown.push_back({{"of", claim.is_span ? "span" : "makespan"},
                     {"least", claim.least},
                     {"splits", claim.of.splits_backward},
                     {"limits", std::move(limits)},
                     {"argument", std::move(argument)}});
  }
  all["bounds"] = std::move(shown);
  made.json = all.dump();
  return made;
}

}  // namespace ashlar
