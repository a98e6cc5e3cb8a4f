// Chooses the parts of a model that are frozen.
#pragma once

#include <ashlar/predict/architecture.hpp>

#include <string_view>

namespace tool {

// Reads parts with commas: embedding, head, layers=0-15, layers=20; layers count from 0. Throws
// usage_error.
ashlar::predict::frozen_parts frozen_parts_of(std::string_view text,
                                              ashlar::predict::architecture const& model);

}  // namespace tool
