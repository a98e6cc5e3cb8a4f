// Words that name parts before the decoder, in options and files.
#pragma once

#include <ashlar/cost/model/architecture.hpp>

#include <string_view>
#include <vector>

namespace tool {

// All of them; those that read an input, such as an image; those that read what another one made, and
// lead to the decoder.
inline constexpr std::string_view all_towers = "towers", encoders = "encoders", aligners = "aligners";

// Which towers a word names: one of these, the name of a tower, or the front of one up to a dot:
// `visual` is `visual.blocks` and `visual.merger`. Empty if none does.
std::vector<bool> towers_named(std::string_view word, ashlar::cost::architecture const& model);

// Whether all of these words, with commas between them, are of towers by their kind: they may stand in a
// file of a model that has none.
bool are_kinds_of_towers(std::string_view text);

}  // namespace tool
