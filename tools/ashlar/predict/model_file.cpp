#include "predict/model_file.hpp"

#include "command.hpp"
#include "predict/model_keys.hpp"
#include "predict/tower_words.hpp"
#include <ashlar/interop/json_reader.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
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
using nlohmann::json;

constexpr long long module_file_version = 1;
constexpr double largest_size = 1e15;
constexpr long long most_layers_of_a_file = 100'000;

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
                   && made.name != "embedding" && made.name != "head" && !are_kinds_of_towers(made.name);
    for (tower const& each : a.towers) is_word = is_word && each.name != made.name;
    if (!is_word)
      fail(from["name"],
           "a tower has a name of its own, without commas, spaces and =; not embedding, head, towers, "
           "encoders or aligners");
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

bool is_model_file(json const& root) {
  return root.is_object() && (root.contains("ashlar_model") || root.contains("architecture"));
}

void read_towers(json_text const& source, json const& from, architecture& into) {
  model_reader(source).read_towers(from, into);
  for (tower& each : into.towers)
    for (tower_product& p : each.products) {
      if (p.inner == 0) p.inner = into.hidden;
      if (p.columns == 0) p.columns = into.hidden;
    }
}

described_model model_in(json_text const& source, json const& model) {
  return model_reader(source).model(model);
}

}  // namespace tool
