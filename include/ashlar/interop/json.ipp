// Definitions of json.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/interop/json.hpp>
#include <ashlar/interop/json_pairs.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/render/known_bound.hpp>
#include <ashlar/render/utf8.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/tables.hpp>

#include <optional>
#include <string>

namespace ashlar::json_detail {

// The places of pairs in the orders if starts do not tell them, because a forward among them takes no
// time; else empty.
ASHLAR_INLINE nlohmann::ordered_json pairs_without_time(schedule const& s) {
  nlohmann::ordered_json places = nlohmann::ordered_json::array();
  bool are_told = true;
  for (int d = 0; d < s.device_count(); ++d) {
    nlohmann::ordered_json own = nlohmann::ordered_json::array();
    int at = 0;
    for (time_slot const& t : s.order[static_cast<std::size_t>(d)]) {
      if (t.is_pair()) own.push_back(at);
      are_told = are_told && !(t.is_pair() && s.cost.of(t.what, d) == 0);
      at += t.is_pair() ? 2 : 1;
    }
    places.push_back(std::move(own));
  }
  return are_told ? nlohmann::ordered_json::array() : places;
}

}  // namespace ashlar::json_detail

namespace ashlar {

ASHLAR_INLINE nlohmann::ordered_json to_json(schedule const& s, std::string_view name,
                                             time_scale const& scale) {
  using nlohmann::ordered_json;
  must_have_form(s);
  if (scale.ticks_per_unit < 1 || scale.ticks_per_unit > max_tick)
    refuse({.broken = rule::ticks_fit, .number = scale.ticks_per_unit});
  auto const routes_of = [&](result r) {
    ordered_json routes = ordered_json::array();
    for (int route = 0; route < s.where.route_count(); ++route) {
      ordered_json by_stage = ordered_json::array();
      for (int stage = 0; stage < s.stage_count(); ++stage)
        by_stage.push_back(s.where.device_of(route, stage, r));
      routes.push_back(std::move(by_stage));
    }
    return routes;
  };
  ordered_json per_stage = ordered_json::array();
  for (int stage = 0; stage < s.stage_count(); ++stage)
    for (int chunk = 0; chunk < s.cost.passes.period(); ++chunk) {
      stage_cost const& c = s.cost.passes.of(stage, chunk);
      per_stage.push_back({{"forward", c.forward},
                           {"backward_input", c.backward_input},
                           {"backward_weight", c.backward_weight},
                           {"recompute", c.of(pass_kind::recompute)}});
    }
  interconnect const& links = s.cost.on.links;
  ordered_json cost{{"per_stage", std::move(per_stage)},
                    {"transfer", links.inside.time_of(s.cost.message)}};
  if (s.cost.passes.micro_batches() != 0) cost["micro_batches"] = s.cost.passes.micro_batches();
  if (s.cost.passes.sequence_chunks() > 1) cost["sequence_chunks"] = s.cost.passes.sequence_chunks();
  if (links.node_size > 0) {
    cost["transfer_between_nodes"] = links.between.time_of(s.cost.message);
    cost["node_size"] = links.node_size;
  }
  for (link_level const& l : links.wider)
    cost["levels"].push_back({{"devices", l.size}, {"transfer", l.between.time_of(s.cost.message)}});
  for (link_exception const& e : links.exceptions)
    cost["links"].push_back(
        {{"from", e.from}, {"to", e.to}, {"transfer", e.speed.time_of(s.cost.message)}});
  if (!s.cost.on.speeds.empty()) cost["speeds"] = s.cost.on.speeds;
  ordered_json orders = ordered_json::array(), starts = ordered_json::array();
  for (auto const& order : s.order) {
    ordered_json tokens = ordered_json::array(), ticks = ordered_json::array();
    for (timed_pass const t : each_pass(order)) {
      if (t.start < 0)
        refuse({.broken = rule::ticks_fit,
                .first = {.device = static_cast<int>(&order - s.order.data()),
                          .index = static_cast<int>(t.slot - order.data()),
                          .what = t.what},
                .number = t.start});
      tokens.push_back(to_string(t.what));
      ticks.push_back(t.start);
    }
    orders.push_back(std::move(tokens));
    starts.push_back(std::move(ticks));
  }
  ordered_json all{{"schedule", render_detail::valid_utf8(name)},
                   {"devices", s.device_count()},
                   {"stages", s.stage_count()},
                   {"micro_batches", s.micro_batch_count()},
                   {"placement", routes_of(result::activation)},
                   {"route", s.route},
                   {"costs", std::move(cost)},
                   {"makespan", makespan(s)},
                   {"span", span(s)}};
  if (s.where.moves()) all["backward_placement"] = routes_of(result::input_gradient);
  if (std::optional<bound> const least = known_bound(s)) {
    all["makespan_bound"] = least->makespan;
    all["makespan_gap"] = gap(makespan(s), least->makespan);
    all["span_bound"] = least->span;
    all["span_gap"] = gap(span(s), least->span);
  }
  if (!is_chain(s.graph)) {
    ordered_json edges = ordered_json::array(), sizes = ordered_json::array();
    for (int stage = 0; stage < s.stage_count(); ++stage) {
      for (int after : s.graph.successors(stage)) edges.push_back({stage, after});
      sizes.push_back(s.graph.size_of(stage));
    }
    all["stage_edges"] = std::move(edges);
    if (s.graph.has_sizes()) all["micro_batch_sizes"] = std::move(sizes);
    if (s.graph.has_shards()) {
      ordered_json layers = ordered_json::array();
      for (int stage = 0; stage < s.stage_count(); ++stage) {
        auto const shards = s.graph.shards_with(stage);
        if (!shards.empty() && shards[0] == stage)
          layers.push_back(std::vector<int>(shards.begin(), shards.end()));
      }
      all["shards"] = std::move(layers);
      all["shard_gradients"] =
          s.graph.gradients() == shard_gradient::of_forward ? "of_forward" : "of_backward";
    }
  }
  if (s.graph.sequence_chunks() > 1) all["sequence_chunks"] = s.graph.sequence_chunks();
  if (s.cost.passes.overlapped.are_given())
    all["costs"]["overlapped"] = to_json(s.cost.passes.overlapped);
  if (!scale.unit.empty()) all["costs"]["time_unit"] = render_detail::valid_utf8(scale.unit);
  if (!scale.is_plain()) all["costs"]["ticks_per_unit"] = scale.ticks_per_unit;
  all["busy"] = busy(s);
  all["bubble_rate"] = bubble_rate(s);
  all["bubble_rate_span"] = bubble_rate_span(s);
  all["overhead"] = overhead(s);
  all["overhead_span"] = overhead_span(s);
  if (!s.where.moves()) all["peak_activations"] = peak_activations(s);
  all["orders"] = std::move(orders);
  all["starts"] = std::move(starts);
  if (ordered_json pairs = json_detail::pairs_without_time(s); !pairs.empty())
    all["pairs"] = std::move(pairs);
  return all;
}

}  // namespace ashlar
