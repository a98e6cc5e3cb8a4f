// Chooses the parts of a model that are frozen.
#pragma once

#include <ashlar/cost/model/architecture.hpp>

#include <string_view>

namespace tool {

// Reads parts with commas: embedding, head, layers=0-15, layers=20; layers count from 0. Throws
// usage_error.
ashlar::cost::frozen_parts frozen_parts_of(std::string_view text,
                                           ashlar::cost::architecture const& model);

}  // namespace tool
