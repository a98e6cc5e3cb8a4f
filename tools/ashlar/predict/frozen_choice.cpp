#include "predict/frozen_choice.hpp"

#include "command.hpp"
#include "options/number_option.hpp"
#include "predict/tower_words.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tool {

namespace {

using ashlar::cost::frozen_parts;
using ashlar::cost::updated_alone;

// The value of "first=4"; empty for other words.
std::string_view value_of(std::string_view word, std::string_view name) {
  return word.starts_with(name) ? word.substr(name.size()) : std::string_view{};
}

void name_layers(int first, int last, int count, frozen_parts& named) {
  named.layers.resize(static_cast<std::size_t>(count), false);
  for (int i = first; i <= last; ++i) named.layers[static_cast<std::size_t>(i)] = true;
}

void name_range(std::string_view range, int count, frozen_parts& named) {
  auto const dash = range.find('-');
  auto const number = [&](std::string_view text, int least) {
    return number_within<int>("a frozen layer", text, least, count - 1);
  };
  int const first = number(range.substr(0, dash), 0);
  name_layers(first, dash == range.npos ? first : number(range.substr(dash + 1), first), count, named);
}

// The table and the layers that are whole in this first share of a decoder's parameters.
void name_share(std::string_view share, ashlar::cost::architecture const& model, frozen_parts& named) {
  if (!model.towers.empty() || model.has_measured_layers())
    throw usage_error(
        "ratio: the order of the parameters of towers and of measured layers is not known");
  double const all = parameters(model), most = number_within<double>("ratio", share, 0, 1) * all;
  named.head = most >= all;
  double before = model.table_parameters();
  named.embedding = before <= most;
  for (int i = 0; i < model.layer_count(); ++i) {
    ashlar::cost::layer const& l = model.at(i);
    before += layer_matrices(model, l, l.feed.experts) + l.mix.beside + l.cross.beside + l.feed.beside;
    if (before <= most) name_layers(0, i, model.layer_count(), named);
  }
}

struct named_parts {
  frozen_parts parts;
  std::vector<bool> towers;
};

bool name_tower(std::string_view name, ashlar::cost::architecture const& model, named_parts& named) {
  std::vector<bool> const of_word = towers_named(name, model);
  for (std::size_t i = 0; i < of_word.size(); ++i)
    if (of_word[i]) named.towers[i] = true;
  return !of_word.empty();
}

// The parts that are named: to be frozen, or to train.
named_parts parts_of(std::string_view text, ashlar::cost::architecture const& model) {
  int const count = model.layer_count();
  named_parts all{.parts = {}, .towers = std::vector<bool>(model.towers.size(), false)};
  frozen_parts& named = all.parts;
  for (;;) {
    auto const comma = text.find(',');
    std::string_view const part = text.substr(0, comma);
    auto const layers = [&](std::string_view from) {
      return number_within<int>("a number of layers", from, 1, count);
    };
    if (part == "embedding")
      named.embedding = true;
    else if (part == "head")
      named.head = true;
    else if (part == "layers")
      name_layers(0, count - 1, count, named);
    else if (auto const range = value_of(part, "layers="); !range.empty())
      name_range(range, count, named);
    else if (auto const some = value_of(part, "first="); !some.empty())
      name_layers(0, layers(some) - 1, count, named);
    else if (auto const share = value_of(part, "ratio="); !share.empty())
      name_share(share, model, named);
    else if (auto const end = value_of(part, "last="); !end.empty())
      name_layers(count - layers(end), count - 1, count, named);
    else if (!name_tower(part, model, all))
      throw usage_error(fmt::format(
          "'{}' is no part of the model; there are: embedding, head, layers, "
          "layers=0-15, layers=20, first=4, last=2 and ratio=0.9{}",
          part.substr(0, 64),
          model.towers.empty() ? "" : ", and towers, encoders, aligners, or towers by their names"));
    if (comma == text.npos) return all;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

void freeze(std::string_view text, ashlar::cost::architecture& model) {
  named_parts const named = parts_of(text, model);
  model.frozen = named.parts;
  for (std::size_t i = 0; i < model.towers.size(); ++i) model.towers[i].is_frozen = named.towers[i];
}

namespace {

void update_alone(updated_alone kind, std::string_view more, ashlar::cost::architecture& model) {
  if (!model.towers.empty() || model.has_encoder())
    throw usage_error("norms and biases of towers and encoders are not told apart");
  if (model.has_measured_layers()) throw usage_error("measured layers say nothing of norms and biases");
  if (!more.empty() && more != "unfrozen")
    throw usage_error(fmt::format("norms and biases train alone: 'unfrozen' may follow, not '{}'",
                                  more.substr(0, 64)));
  model.alone = kind;
  model.has_other_gradients = !more.empty();
  model.predictions = 0;
  if (!(trained_parameters(model) > 0))
    throw usage_error(kind == updated_alone::norms
                          ? "the model has no norms with parameters, or its file does not say them"
                          : "the model has no biases, or its file does not say them");
  bool const freezes = more.empty();
  model.frozen = {
      .embedding = freezes, .head = freezes, .layers = std::vector<bool>(model.layers.size(), freezes)};
  if (!freezes) model.frozen = {};
}

}  // namespace

void freeze_all_but(std::string_view text, ashlar::cost::architecture& model) {
  std::string_view const first = text.substr(0, text.find(','));
  for (auto const& [word, kind] :
       {std::pair{"norms", updated_alone::norms}, {"biases", updated_alone::biases}})
    if (first == word)
      return update_alone(kind, text.substr(std::min(first.size() + 1, text.size())), model);
  named_parts named = parts_of(text, model);
  frozen_parts& parts = named.parts;
  parts.layers.resize(static_cast<std::size_t>(model.layer_count()), false);
  parts.layers.flip();
  parts.embedding = !parts.embedding;
  parts.head = model.is_tied ? parts.embedding : !parts.head;
  model.frozen = parts;
  for (std::size_t i = 0; i < model.towers.size(); ++i) model.towers[i].is_frozen = !named.towers[i];
}

void choose_head(std::string const& outputs, prediction& p) {
  if (outputs.empty()) return;
  ashlar::cost::architecture& a = p.asked.model;
  a.outputs = number_within<int>("--head: outputs", outputs, 0, 1'000'000);
  if (!a.has_tables() || a.has_encoder())
    throw usage_error("--head: only a decoder with an embedding can have another head than its own");
  a.is_tied = false;
  if (a.predictions > 0) p.notes.emplace_back("--head: without the layers that predict further tokens");
  a.predictions = 0;
  p.head = outputs;
}

}  // namespace tool
