#include "predict/model_file.hpp"

#include "command.hpp"
#include "predict/frozen_choice.hpp"
#include <ashlar/interop/json_reader.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

namespace {

using ashlar::cost::architecture;
using ashlar::cost::feed_forward;
using ashlar::cost::feed_forward_kind;
using ashlar::cost::layer;
using ashlar::cost::mixer;
using ashlar::cost::mixer_kind;
using ashlar::cost::tower;
using ashlar::cost::tower_product;
using nlohmann::json;
using nlohmann::ordered_json;

// The keys of each part with their sizes, for both directions.
constexpr std::array mixer_sizes{
    std::pair{"heads", &mixer::heads},     std::pair{"groups", &mixer::groups},
    std::pair{"head", &mixer::head},       std::pair{"window", &mixer::window},
    std::pair{"chunk", &mixer::chunk},     std::pair{"q_rank", &mixer::q_rank},
    std::pair{"kv_rank", &mixer::kv_rank}, std::pair{"nope", &mixer::nope},
    std::pair{"rope", &mixer::rope},       std::pair{"value_head", &mixer::value_head},
    std::pair{"inner", &mixer::inner},     std::pair{"keys", &mixer::keys},
    std::pair{"steps", &mixer::steps},     std::pair{"rank", &mixer::rank},
    std::pair{"beside", &mixer::beside}};
constexpr std::array mixer_flags{std::pair{"has_gate", &mixer::has_gate},
                                 std::pair{"sees_all", &mixer::sees_all}};
constexpr std::array mixer_kinds{
    std::pair{"none", mixer_kind::none}, std::pair{"attention", mixer_kind::attention},
    std::pair{"compressed", mixer_kind::compressed}, std::pair{"state_space", mixer_kind::state_space}};
constexpr std::array feed_sizes{std::pair{"width", &feed_forward::width},
                                std::pair{"experts", &feed_forward::experts},
                                std::pair{"chosen", &feed_forward::chosen},
                                std::pair{"expert_width", &feed_forward::expert_width},
                                std::pair{"shared_width", &feed_forward::shared_width},
                                std::pair{"latent", &feed_forward::latent},
                                std::pair{"groups", &feed_forward::groups},
                                std::pair{"chosen_groups", &feed_forward::chosen_groups},
                                std::pair{"beside", &feed_forward::beside},
                                std::pair{"beside_expert", &feed_forward::beside_expert}};
constexpr std::array feed_flags{std::pair{"is_gated", &feed_forward::is_gated},
                                std::pair{"is_clamped", &feed_forward::is_clamped}};
constexpr std::array feed_kinds{std::pair{"none", feed_forward_kind::none},
                                std::pair{"dense", feed_forward_kind::dense},
                                std::pair{"experts", feed_forward_kind::experts}};
constexpr std::array model_sizes{
    std::pair{"hidden", &architecture::hidden}, std::pair{"vocabulary", &architecture::vocabulary},
    std::pair{"embedding", &architecture::embedding}, std::pair{"beside", &architecture::beside}};
constexpr std::array model_flags{std::pair{"is_tied", &architecture::is_tied},
                                 std::pair{"repeats", &architecture::repeats}};

constexpr std::array tower_sizes{std::pair{"hidden", &tower::hidden},
                                 std::pair{"tokens", &tower::tokens},
                                 std::pair{"beside", &tower::beside}};
constexpr std::array tower_flags{std::pair{"continues", &tower::continues},
                                 std::pair{"keeps_all", &tower::keeps_all}};
constexpr std::array product_sizes{std::pair{"rows", &tower_product::rows},
                                   std::pair{"inner", &tower_product::inner},
                                   std::pair{"columns", &tower_product::columns}};
constexpr std::array product_flags{std::pair{"is_ahead", &tower_product::is_ahead}};

constexpr long long module_file_version = 1;
constexpr double largest_size = 1e15;
constexpr long long most_layers_of_a_file = 100'000;

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

class model_reader : json_reader {
 public:
  explicit model_reader(json_text const& source) : json_reader(source) {}

  described_model model(json const& from) const {
    if (from.contains("ashlar_model")) must_be_predictable(from);
    described_model made{.name = "model", .type = {}, .left_out = {}, .notes = {}, .shape = {}};
    for (auto const& [key, word] :
         {std::pair{"name", &made.name}, std::pair{"type", &made.type}, std::pair{"class", &made.type}})
      if (from.contains(key)) *word = text(from[key], key);
    read(object(at(from, "architecture"), "architecture"), made.shape);
    double const outside = from.contains("left_out") ? left_out(from["left_out"], made) : 0;
    if (from.contains("parameters")) must_agree(from["parameters"], made.shape, outside);
    return made;
  }

  void read_towers(json const& from, architecture& a) const {
    for (json const& each : list(from, "towers")) a.towers.push_back(tower_in(each, a));
  }

 private:
  // A file of a module may have the reason why it has no architecture.
  void must_be_predictable(json const& from) const {
    if (whole(from["ashlar_model"], "ashlar_model", 1, 1'000'000) != module_file_version)
      fail(from, fmt::format("is of another version than {}", module_file_version));
    if (from.contains("architecture") || !from.contains("no_architecture")) return;
    fail(from, fmt::format("has a model that no prediction can be made of: {}",
                           text(from["no_architecture"], "no_architecture")));
  }

  // Names of modules that text does not meet, and the sum of their parameters where it is given.
  double left_out(json const& from, described_model& into) const {
    if (from.is_string()) {
      into.left_out = text(from, "left_out");
      return 0;
    }
    double outside = 0;
    for (auto const& [name, count] : object(from, "left_out").items()) {
      into.left_out += (into.left_out.empty() ? "" : ", ") + name.substr(0, 64);
      outside += number(count, "left_out", 0, largest_size);
    }
    return outside;
  }

  // A file that was changed by hand may contradict itself.
  void must_agree(json const& counts, architecture const& a, double outside) const {
    double const told = number(at(object(counts, "parameters"), "all"), "all", 0, largest_size),
                 made = ashlar::cost::parameters(a) + outside;
    if (std::fabs(told - made) > 0.5)
      fail(counts, fmt::format("has {} parameters, but those of its architecture are {}", told, made));
  }

  void read(json const& from, architecture& a) const {
    for (char const* needed : {"hidden", "vocabulary"})
      number(at(from, needed), needed, 1, largest_size);
    read_layers(from, a.kinds, a.layers);
    if (from.contains("towers")) read_towers(from["towers"], a);
    if (a.layers.empty()) fail(from, "has no layers");
    read_part(from, a, model_sizes, model_flags,
              {"kinds", "layers", "towers", "predictor", "predictions", "freeze"});
    if (from.contains("predictor")) a.predictor = kind(from["predictor"]);
    if (from.contains("predictions"))
      a.predictions = static_cast<int>(whole(from["predictions"], "predictions", 0, 1000));
    if (from.contains("freeze")) {
      try {
        freeze(text(from["freeze"], "freeze"), a);
      } catch (usage_error const& e) {
        fail(from["freeze"], fmt::format("\"freeze\": {}", e.what()));
      }
    }
  }

  void read_layers(json const& from, std::vector<layer>& kinds, std::vector<int>& layers) const {
    for (json const& each : list(at(from, "kinds"), "kinds")) kinds.push_back(kind(each));
    for (json const& each : list(at(from, "layers"), "layers")) {
      if (static_cast<long long>(layers.size()) >= most_layers_of_a_file) fail(each, "too many layers");
      layers.push_back(
          static_cast<int>(whole(each, "layers", 0, static_cast<long long>(kinds.size()) - 1)));
    }
  }

  // Names are words of --freeze and --tower-tokens.
  tower tower_in(json const& from, architecture const& a) const {
    tower made;
    made.name = text(at(object(from, "towers"), "name"), "name");
    bool is_word = !made.name.empty() && made.name.find_first_of(",= ") == std::string::npos
                   && made.name != "embedding" && made.name != "head" && made.name != all_towers;
    for (tower const& each : a.towers) is_word = is_word && each.name != made.name;
    if (!is_word)
      fail(from["name"],
           "a tower has a name of its own, without commas, spaces and =; not embedding, towers or "
           "head");
    if (from.contains("layers")) read_layers(from, made.kinds, made.layers);
    if (from.contains("inputs"))
      made.inputs = static_cast<int>(whole(from["inputs"], "inputs", 1, 100'000));
    if (from.contains("products"))
      for (json const& each : list(from["products"], "products")) {
        made.products.emplace_back();
        read_part(object(each, "products"), made.products.back(), product_sizes, product_flags, {});
      }
    read_part(from, made, tower_sizes, tower_flags, {"name", "kinds", "layers", "inputs", "products"});
    if (made.tokens != std::floor(made.tokens)) fail(from["tokens"], "tokens are a whole number");
    return made;
  }

  template <class Part, class Sizes, class Flags>
  void read_part(json const& from, Part& part, Sizes const& sizes, Flags const& flags,
                 std::vector<std::string_view> const& others) const {
    for (auto const& [key, value] : from.items()) {
      bool is_known = std::find(others.begin(), others.end(), key) != others.end();
      for (auto const& [name, size] : sizes)
        if (key == name) {
          part.*size = number(value, name, 0, largest_size);
          is_known = true;
        }
      for (auto const& [name, flag] : flags)
        if (key == name) {
          part.*flag = is_true(value, name);
          is_known = true;
        }
      if (!is_known) fail(value, fmt::format("\"{}\" means nothing here", key.substr(0, 64)));
    }
  }
  bool is_true(json const& value, char const* key) const {
    if (!value.is_boolean()) fail(value, fmt::format("\"{}\" must be true or false", key));
    return value.get<bool>();
  }
  template <class Kinds>
  auto kind_in(json const& from, Kinds const& kinds) const {
    std::string const word = text(at(from, "kind"), "kind");
    std::string all;
    for (auto const& [name, meaning] : kinds) {
      if (word == name) return meaning;
      all += fmt::format(" {}", name);
    }
    fail(from["kind"], fmt::format("no kind '{}' is known; there are:{}", word.substr(0, 64), all));
  }
  mixer mixer_in(json const& from) const {
    mixer made;
    made.kind = kind_in(from, mixer_kinds);
    read_part(from, made, mixer_sizes, mixer_flags, {"kind"});
    bool const attends = made.kind == mixer_kind::attention;
    if (attends && (!(made.groups > 0) || std::fmod(made.heads, made.groups) > 0))
      fail(from, fmt::format("has {} heads of attention, which are no multiple of its {} key heads",
                             made.heads, made.groups));
    return made;
  }
  layer kind(json const& from) const {
    layer made;
    for (auto const& [key, value] : object(from, "kinds").items())
      if (key == "mix" || key == "cross") {
        (key == "mix" ? made.mix : made.cross) = mixer_in(object(value, key.c_str()));
      } else if (key == "feed") {
        made.feed.kind = kind_in(object(value, "feed"), feed_kinds);
        read_part(value, made.feed, feed_sizes, feed_flags, {"kind"});
        bool const routes = made.feed.kind == feed_forward_kind::experts;
        if (routes && (!(made.feed.chosen > 0) || made.feed.chosen > made.feed.experts))
          fail(value,
               fmt::format("chooses {} of {} experts for a token", made.feed.chosen, made.feed.experts));
      } else {
        fail(value, fmt::format("\"{}\" means nothing here", key.substr(0, 64)));
      }
    return made;
  }
};

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
  if (a.freezes_any()) shape["freeze"] = frozen_words(a);
  made["architecture"] = std::move(shape);
  return made;
}

bool is_model_file(json const& root) {
  return root.is_object() && (root.contains("ashlar_model") || root.contains("architecture"));
}

void read_towers(json_text const& source, json const& from, architecture& into) {
  model_reader(source).read_towers(from, into);
}

described_model model_in(json_text const& source, json const& model) {
  return model_reader(source).model(model);
}

}  // namespace tool
