// Definitions of json_costs.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/bandwidths.hpp>
#include <ashlar/interop/input_limits.hpp>
#include <ashlar/interop/json_costs.hpp>
#include <ashlar/interop/json_reader.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace ashlar::json_detail {

using nlohmann::json;
using nlohmann::ordered_json;

struct unit_length {
  char const* name;
  double ns;
};
inline constexpr unit_length unit_lengths[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
inline constexpr double longest_ns = 1e15;  // eleven days: sums of ticks do not overflow
inline constexpr double least_ticks = 1000;
inline constexpr std::size_t most_braided = input_limits::braided_stages;
inline constexpr std::size_t most_parts = input_limits::parts;

class costs_reader : json_reader {
 public:
  explicit costs_reader(json_text const& source)
      : json_reader(source), costs_(at(source.root(), "costs")) {
    auto const unit =
        std::find_if(std::begin(unit_lengths), std::end(unit_lengths),
                     [&](unit_length const& u) { return at(costs_, "unit") == json(u.name); });
    if (unit == std::end(unit_lengths)) fail(costs_["unit"], "\"unit\" must be ns, us, ms or s");
    unit_ns_ = unit->ns;
  }

  json_costs read() {
    json const& stages = list(at(costs_, "stages"), "stages");
    if (stages.empty()) fail(stages, "\"stages\" must have a stage");
    double shortest = longest_ns;
    auto const count = [&](json const& from, char const* key) {
      if (double const each = time(from, key, 0); each > 0) shortest = std::min(shortest, each);
    };
    bool has_parts = costs_.contains("pairs");
    for (json const& stage : stages) {
      has_parts = has_parts || stage.contains("parts");
      if (stage.contains("parts"))
        for_each_part(stage, [&](json const& part, char const* key, pass_kind) { count(part, key); });
      else
        for (char const* const kind : measured_passes)
          if (kind != measured_passes[3] || stage.contains(kind)) count(stage, kind);
    }
    choose_tick(shortest);
    json_costs all{.cost = read_costs(stages), .scale = scale_};
    if (has_parts) {
      all.parts = read_parts(stages);
      all.cost.passes.overlapped = costs_of(all.parts).overlapped;
    }
    if (costs_.contains("collective")) all.cost.on.collective = link(costs_, "collective");
    return all;
  }

 private:
  costs read_costs(json const& stages) const {
    costs made;
    std::vector<stage_cost> each;
    for (json const& stage : stages) each.push_back(passes(stage));
    made.passes = std::move(each);
    if (costs_.contains("message_bytes"))
      made.message = whole(costs_["message_bytes"], "message_bytes", 0, input_limits::bytes);
    if (costs_.contains("links")) made.on.links = read_links(object(costs_["links"], "links"));
    return made;
  }
  interconnect read_links(json const& given) const {
    interconnect links{.inside = link(given, "inside")};
    links.between = given.contains("between") ? link(given, "between") : links.inside;
    if (given.contains("node_size"))
      links.node_size =
          static_cast<int>(whole(given["node_size"], "node_size", 0, std::numeric_limits<int>::max()));
    return links;
  }

  // Nanoseconds from a number, or from an object with the median.
  double time(json const& object, char const* key, double least) const {
    json const& given = at(object, key);
    json const& value = given.is_object() ? at(given, "median") : given;
    return unit_ns_ * number(value, key, least / unit_ns_, longest_ns / unit_ns_);
  }
  void choose_tick(double shortest) {
    while (10 * tick_ns_ * least_ticks <= shortest) tick_ns_ *= 10;
    unit_length const* unit = unit_lengths;
    while (std::next(unit) != std::end(unit_lengths) && std::next(unit)->ns <= shortest)
      unit = std::next(unit);
    scale_ = {.ticks_per_unit = std::llround(std::max(1.0, unit->ns / tick_ns_)), .unit = unit->name};
  }
  tick ticks(double ns) const { return std::llround(ns / tick_ns_); }
  tick ticks_of_pass(json const& stage, char const* kind) const {
    double const ns = time(stage, kind, 0);
    return ns == 0 ? 0 : std::max<tick>(1, ticks(ns));
  }
  // Calls visit(part, its key, its pass), for the forward, then for the backward.
  template <class Visit>
  void for_each_part(json const& stage, Visit visit) const {
    json const& parts = object(stage["parts"], "parts");
    for (char const* const key : {"forward", "backward"}) {
      json const& all = list(at(parts, key), key);
      if (all.empty()) fail(all, "\"" + std::string(key) + "\" must have a part");
      for (json const& part : all) {
        bool const exchanges = object(part, key).contains("exchange");
        if (exchanges == part.contains("compute"))
          fail(part, "a part must have the time of \"compute\" or of \"exchange\"");
        bool const of_weights = part.contains("of");
        if (of_weights && (part["of"] != "weights" || std::string_view(key) == "forward"))
          fail(part["of"], "\"of\" must be \"weights\", in a backward");
        visit(part, exchanges ? "exchange" : "compute",
              std::string_view(key) == "forward" ? pass_kind::forward
              : of_weights                       ? pass_kind::backward_weight
                                                 : pass_kind::backward_input);
      }
    }
  }
  // A stage without parts only computes.
  stage_parts parts(json const& stage) const {
    if (!stage.contains("parts")) {
      stage_cost const c = passes(stage);
      return {.forward = {{.duration = c.forward}},
              .backward = {{.duration = c.backward_input},
                           {.duration = c.backward_weight, .of_weights = true}}};
    }
    stage_parts own;
    for_each_part(stage, [&](json const& part, char const* key, pass_kind of) {
      (of == pass_kind::forward ? own.forward : own.backward)
          .push_back({.on = key == std::string_view("exchange") ? part_resource::exchange
                                                                : part_resource::compute,
                      .duration = ticks_of_pass(part, key),
                      .of_weights = of == pass_kind::backward_weight});
    });
    if (!stage.contains("layers")) return own;
    auto const most =
        static_cast<long long>(most_parts / std::max(own.forward.size(), own.backward.size()));
    return repeated(own, static_cast<int>(whole(stage["layers"], "layers", 1, most)));
  }
  part_costs read_parts(json const& stages) const {
    if (stages.size() > most_braided)
      fail(stages, "stages with parts must be at most " + std::to_string(most_braided));
    part_costs made;
    for (json const& stage : stages) {
      made.stages.push_back(parts(stage));
      if (std::max(made.stages.back().forward.size(), made.stages.back().backward.size()) > most_parts)
        fail(stage, "a pass must have at most " + std::to_string(most_parts) + " parts");
    }
    if (!costs_.contains("pairs")) return made;
    for (auto const& [name, how] :
         {std::pair{"best", braiding::best}, std::pair{"in turn", braiding::in_turn},
          std::pair{"in turn, weights delayed", braiding::in_turn_delayed}})
      if (costs_["pairs"] == name) {
        made.how = how;
        return made;
      }
    fail(costs_["pairs"], "\"pairs\" must be \"best\", \"in turn\" or \"in turn, weights delayed\"");
  }
  stage_cost passes(json const& stage) const {
    if (stage.contains("parts")) return cost_of(parts(stage));
    stage_cost c{.forward = ticks_of_pass(stage, measured_passes[0]),
                 .backward_input = ticks_of_pass(stage, measured_passes[1]),
                 .backward_weight = ticks_of_pass(stage, measured_passes[2])};
    if (stage.contains(measured_passes[3])) c.recompute = ticks_of_pass(stage, measured_passes[3]);
    return c;
  }
  link_speed link(json const& object, char const* key) const {
    json const& given = at(object, key);
    double const bytes = given.contains("bytes_per_second")
                             ? number(given["bytes_per_second"], "bytes_per_second", 0, 1e18)
                             : 0;
    return link_speed_of(ticks(time(given, "latency", 0)), bytes * tick_ns_ * 1e-9);
  }

  json const& costs_;
  double unit_ns_ = 1, tick_ns_ = 1;
  time_scale scale_;
};

ASHLAR_INLINE double rounded(double ns) { return std::round(ns * 10) / 10; }

ASHLAR_INLINE ordered_json json_of(measured_time const& s) {
  return {{"median", rounded(s.median)},
          {"lower_quartile", rounded(s.low)},
          {"upper_quartile", rounded(s.high)},
          {"samples", s.samples}};
}

ASHLAR_INLINE ordered_json json_of(measured_link const& l) {
  return {{"latency", json_of(l.latency)}, {"bytes_per_second", std::round(l.bytes_per_second)}};
}

}  // namespace ashlar::json_detail

namespace ashlar {

ASHLAR_INLINE nlohmann::ordered_json to_json(measured_costs const& m, nlohmann::ordered_json about) {
  using json_detail::json_of;
  using nlohmann::ordered_json;
  ordered_json each_stage = ordered_json::array();
  for (auto const& measured : m.stages) {
    ordered_json& stage = each_stage.emplace_back(ordered_json::object());
    for (std::size_t kind = 0; kind < measured.size(); ++kind)
      if (measured[kind].samples > 0) stage[measured_passes[kind]] = json_of(measured[kind]);
  }
  ordered_json all{{"unit", "ns"},
                   {"measured", std::move(about)},
                   {"stages", std::move(each_stage)},
                   {"message_bytes", m.message}};
  if (m.inside) all["links"]["inside"] = json_of(*m.inside);
  if (m.between) all["links"]["between"] = json_of(*m.between);
  if (m.inside) all["links"]["node_size"] = m.node_size;
  if (m.ring) all["collective"] = json_of(*m.ring);
  return {{"costs", std::move(all)}};
}

ASHLAR_INLINE json_costs read_json_costs(json_text const& source) {
  return json_detail::costs_reader(source).read();
}

ASHLAR_INLINE json_costs read_json_costs(std::string text, std::string path) {
  return read_json_costs(parse_json(std::move(text), std::move(path)));
}

}  // namespace ashlar
