// Names of layouts in reports and messages.
#pragma once

#include <ashlar/search/portfolio.hpp>

#include <string>

namespace tool {

// "looped, 4 chunks, 2 recomputed, sequences in 4", and its first word. If other chunks than the first
// recompute: "linear, stages 0-2,4 recomputed".
std::string layout_name(ashlar::layout_choice const& choice);
char const* shape_name(ashlar::placement_kind shape);

// The division of layers: "evenly", "by time", "by bound", "otherwise".
char const* name_of(ashlar::layer_division division);

}  // namespace tool
