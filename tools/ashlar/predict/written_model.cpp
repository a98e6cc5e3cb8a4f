#include "predict/model_file.hpp"
#include "predict/model_keys.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

using ashlar::cost::architecture;
using ashlar::cost::feed_forward_kind;
using ashlar::cost::layer;
using ashlar::cost::mixer;
using ashlar::cost::mixer_kind;
using ashlar::cost::tower;
using ashlar::cost::tower_product;
using nlohmann::ordered_json;

// Whole numbers are written as such.
ordered_json json_of(double size) {
  auto const whole = static_cast<long long>(size);
  return static_cast<double>(whole) == size ? ordered_json(whole) : ordered_json(size);
}

template <class Part, class Sizes, class Flags>
void write_part(ordered_json& made, Part const& part, Sizes const& sizes, Flags const& flags) {
  for (auto const& [key, size] : sizes)
    if (part.*size != 0) made[key] = json_of(part.*size);
  for (auto const& [key, flag] : flags)
    if (part.*flag) made[key] = true;
}

template <class Kinds, class Kind>
char const* name_in(Kinds const& kinds, Kind kind) {
  for (auto const& [name, meaning] : kinds)
    if (meaning == kind) return name;
  return "none";
}

ordered_json json_of(mixer const& m) {
  ordered_json made{{"kind", name_in(mixer_kinds, m.kind)}};
  write_part(made, m, mixer_sizes, mixer_flags);
  return made;
}

ordered_json json_of(layer const& l) {
  ordered_json made{{"mix", json_of(l.mix)}}, feed{{"kind", name_in(feed_kinds, l.feed.kind)}};
  if (l.cross.kind != mixer_kind::none) made["cross"] = json_of(l.cross);
  write_part(feed, l.feed, feed_sizes, feed_flags);
  made["feed"] = std::move(feed);
  return made;
}

// The layers of a model or of a tower.
void write_layers(ordered_json& made, std::vector<layer> const& kinds, std::vector<int> const& layers) {
  made["kinds"] = ordered_json::array();
  for (layer const& l : kinds) made["kinds"].push_back(json_of(l));
  made["layers"] = layers;
}

ordered_json json_of(tower const& t) {
  ordered_json made{{"name", t.name}};
  write_part(made, t, tower_sizes, tower_flags);
  if (t.inputs > 1) made["inputs"] = t.inputs;
  if (!t.layers.empty()) write_layers(made, t.kinds, t.layers);
  for (tower_product const& each : t.products) {
    ordered_json product;
    write_part(product, each, product_sizes, product_flags);
    made["products"].push_back(std::move(product));
  }
  return made;
}

// Frozen parts as --freeze has them.
std::string frozen_words(architecture const& a) {
  std::string words;
  auto const add = [&](std::string const& word) { words += (words.empty() ? "" : ",") + word; };
  for (tower const& each : a.towers)
    if (each.is_frozen) add(each.name);
  if (a.frozen.embedding) add("embedding");
  if (a.frozen.head) add("head");
  for (int i = 0; i < a.layer_count(); ++i)
    if (a.frozen.has_layer(i)) add(fmt::format("layers={}", i));
  return words;
}

}  // namespace

ordered_json json_of(described_model const& model) {
  architecture const& a = model.shape;
  ordered_json made{{"name", model.name}}, shape;
  if (!model.type.empty()) made["type"] = model.type;
  if (!model.left_out.empty()) made["left_out"] = model.left_out;
  write_part(shape, a, model_sizes, model_flags);
  write_layers(shape, a.kinds, a.layers);
  for (tower const& each : a.towers) shape["towers"].push_back(json_of(each));
  if (a.predictions > 0) {
    shape["predictor"] = json_of(a.predictor);
    shape["predictions"] = a.predictions;
  }
  if (std::string const frozen = frozen_words(a); !frozen.empty()) shape["freeze"] = frozen;
  made["architecture"] = std::move(shape);
  return made;
}

}  // namespace tool
