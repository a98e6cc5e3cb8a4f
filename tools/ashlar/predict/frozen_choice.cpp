#include "predict/frozen_choice.hpp"

#include "command.hpp"
#include "options/number_option.hpp"

#include <fmt/core.h>

#include <cstddef>

namespace tool {

namespace {

constexpr std::string_view layers_word = "layers=";

void freeze_layers(std::string_view range, int count, ashlar::cost::frozen_parts& frozen) {
  auto const dash = range.find('-');
  auto const number = [&](std::string_view text, int least) {
    return number_within<int>("a frozen layer", text, least, count - 1);
  };
  int const first = number(range.substr(0, dash), 0);
  int const last = dash == range.npos ? first : number(range.substr(dash + 1), first);
  frozen.layers.resize(static_cast<std::size_t>(count), false);
  for (int i = first; i <= last; ++i) frozen.layers[static_cast<std::size_t>(i)] = true;
}

bool freeze_tower(std::string_view name, ashlar::cost::architecture& model) {
  bool is_one = name == all_towers;
  for (ashlar::cost::tower& each : model.towers) {
    if (name != all_towers && each.name != name) continue;
    is_one = each.is_frozen = true;
  }
  return is_one;
}

}  // namespace

void freeze(std::string_view text, ashlar::cost::architecture& model) {
  ashlar::cost::frozen_parts& frozen = model.frozen = {};
  for (ashlar::cost::tower& each : model.towers) each.is_frozen = false;
  for (;;) {
    auto const comma = text.find(',');
    std::string_view const part = text.substr(0, comma);
    if (part == "embedding")
      frozen.embedding = true;
    else if (part == "head")
      frozen.head = true;
    else if (part == "layers")
      frozen.layers.assign(model.layers.size(), true);
    else if (part.substr(0, layers_word.size()) == layers_word)
      freeze_layers(part.substr(layers_word.size()), model.layer_count(), frozen);
    else if (!freeze_tower(part, model))
      throw usage_error(fmt::format(
          "'{}' cannot be frozen; there are: embedding, head, layers, layers=0-15 and layers=20{}",
          part.substr(0, 64), model.towers.empty() ? "" : ", and towers, all or by their names"));
    if (comma == text.npos) return;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace tool
