// Definitions of json_certificate.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/json.hpp>
#include <ashlar/interop/json_certificate.hpp>

#include <optional>

namespace ashlar {

namespace json_detail {

inline std::optional<bound_argument> argument_for(schedule const& s, claimed_bound const& claim) {
  if (!claim.of) return argument_of(s, claim.least, claim.is_span);
  auto const why = argument_of(*claim.of, claim.least, claim.is_span);
  // Paths are those of the schedule's own passes.
  bool const is_of_others = claim.of->splits_backward != workload_of(s).splits_backward;
  return why && why->by == argument_kind::path && is_of_others ? std::nullopt : why;
}

inline nlohmann::ordered_json to_json(bound_argument const& why) {
  nlohmann::ordered_json argument{{"by", name_of(why.by)}, {"device", why.device}};
  if (why.origin != bound_argument::whole) argument["origin"] = why.origin;
  if (why.from.stage != bound_argument::whole) argument["origin"] = to_string(why.from);
  return argument;
}

inline nlohmann::ordered_json to_json(claimed_bound const& claim, bound_argument const& why) {
  nlohmann::ordered_json one{{"of", claim.is_span ? "span" : "makespan"}, {"least", claim.least}};
  if (claim.of) {
    one["splits"] = claim.of->splits_backward;
    for (int d = 0; d < claim.of->where.device_count(); ++d)
      one["limits"].push_back(activations_on(*claim.of, d));
  }
  one["argument"] = to_json(why);
  return one;
}

}  // namespace json_detail

ASHLAR_INLINE std::string certificate_obstacle(schedule const& s) {
  if (!s.work.empty()) return "it has work beside the passes";
  if (s.graph.has_sizes()) return "its stages take micro-batches of different sizes";
  if (s.where.moves()) return "backwards run on other devices than forwards";
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
  for (claimed_bound const& claim : bounds)
    if (auto const why = json_detail::argument_for(s, claim))
      shown.push_back(json_detail::to_json(claim, *why));
    else
      made.without_argument.push_back(claim);
  all["bounds"] = std::move(shown);
  made.json = all.dump();
  return made;
}

}  // namespace ashlar
