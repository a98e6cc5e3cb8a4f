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

}  // namespace

ashlar::cost::frozen_parts frozen_parts_of(std::string_view text,
                                           ashlar::cost::architecture const& model) {
  ashlar::cost::frozen_parts frozen;
  for (;;) {
    auto const comma = text.find(',');
    std::string_view const part = text.substr(0, comma);
    if (part == "embedding")
      frozen.embedding = true;
    else if (part == "head")
      frozen.head = true;
    else if (part.substr(0, layers_word.size()) == layers_word)
      freeze_layers(part.substr(layers_word.size()), model.layer_count(), frozen);
    else
      throw usage_error(
          fmt::format("'{}' cannot be frozen; there are: embedding, head, layers=0-15 and layers=20",
                      part.substr(0, 64)));
    if (comma == text.npos) return frozen;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace tool
