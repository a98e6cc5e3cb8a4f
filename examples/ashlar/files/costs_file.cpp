#include "files/costs_file.hpp"

#include "files/json_files.hpp"
#include "options/limits.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace tool {

namespace {

using nlohmann::json;

struct unit_length {
  char const* name;
  double ns;
};
constexpr unit_length unit_lengths[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr double longest_ns = 1e15;  // eleven days: sums of ticks do not overflow
constexpr double least_ticks = 1000;

class costs_reader : json_reader {
 public:
  explicit costs_reader(json_text const& source)
      : json_reader(source), costs_(at(source.root, "costs")) {
    auto const unit =
        std::find_if(std::begin(unit_lengths), std::end(unit_lengths),
                     [&](unit_length const& u) { return at(costs_, "unit") == json(u.name); });
    if (unit == std::end(unit_lengths)) fail(costs_["unit"], "\"unit\" must be ns, us, ms or s");
    unit_ns_ = unit->ns;
  }

  costs_file read() {
    json const& stages = list(at(costs_, "stages"), "stages");
    if (stages.empty()) fail(stages, "\"stages\" must have a stage");
    double shortest = longest_ns;
    for (json const& stage : stages)
      for (char const* const kind : measured_passes)
        if (kind != measured_passes[3] || stage.contains(kind))
          if (double const each = time(stage, kind, 0); each > 0) shortest = std::min(shortest, each);
    choose_tick(shortest);
    costs_file file{.path = source_.path, .cost = {}, .ring = {}, .scale = scale_};
    std::vector<ashlar::stage_cost> each;
    for (json const& stage : stages) {
      ashlar::stage_cost c{.forward = pass(stage, measured_passes[0]),
                           .backward_input = pass(stage, measured_passes[1]),
                           .backward_weight = pass(stage, measured_passes[2])};
      if (stage.contains(measured_passes[3])) c.recompute = pass(stage, measured_passes[3]);
      each.push_back(c);
    }
    file.cost.passes = std::move(each);
    if (costs_.contains("message_bytes"))
      file.cost.message = whole(costs_["message_bytes"], "message_bytes", 0, most_memory);
    if (costs_.contains("links")) {
      json const& links = object(costs_["links"], "links");
      file.cost.on.links.inside = file.cost.on.links.between = link(links, "inside");
      if (links.contains("between")) file.cost.on.links.between = link(links, "between");
      if (links.contains("node_size"))
        file.cost.on.links.node_size =
            static_cast<int>(whole(links["node_size"], "node_size", 0, most_devices));
    }
    if (costs_.contains("collective")) file.ring = link(costs_, "collective");
    return file;
  }

 private:
  // In nanoseconds: a number, or an object with the median.
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
  ashlar::tick ticks(double ns) const { return std::llround(ns / tick_ns_); }
  ashlar::tick pass(json const& stage, char const* kind) const {
    double const ns = time(stage, kind, 0);
    return ns == 0 ? 0 : std::max<ashlar::tick>(1, ticks(ns));
  }
  ashlar::link_speed link(json const& object, char const* key) const {
    json const& given = at(object, key);
    ashlar::link_speed speed{.latency = ticks(time(given, "latency", 0)), .bandwidth = 0};
    if (!given.contains("bytes_per_second")) return speed;
    double const bytes = number(given["bytes_per_second"], "bytes_per_second", 0, 1e18);
    if (bytes > 0)
      speed.bandwidth = std::max<ashlar::byte_count>(1, std::llround(bytes * tick_ns_ * 1e-9));
    return speed;
  }

  json const& costs_;
  double unit_ns_ = 1, tick_ns_ = 1;
  time_scale scale_;
};

}  // namespace

costs_file read_costs(std::string const& path) {
  json_text const source = read_json_text(path);
  return costs_reader(source).read();
}

}  // namespace tool
