// Chooses the parts of a model that are frozen.
#pragma once

#include <ashlar/cost/model/architecture.hpp>

#include <string_view>

namespace tool {

// Freezes parts with commas, and no others: embedding, head, layers, layers=0-15, layers=20, all towers
// or some by their names; layers count from 0. Throws usage_error.
inline constexpr std::string_view all_towers = "towers";
void freeze(std::string_view text, ashlar::cost::architecture& model);

}  // namespace tool
