// How reports and messages name layouts.
#pragma once

#include <ashlar/search/portfolio.hpp>

#include <string>

namespace tool {

// "looped, 4 chunks, 2 recomputed, sequences in 4", and its first word. Where it is not the first chunks
// that recompute: "linear, stages 0-2,4 recomputed".
std::string layout_name(ashlar::layout_choice const& choice);
char const* shape_name(ashlar::placement_kind shape);

// How layers are divided: "evenly", "by time", "by bound", "otherwise".
char const* name_of(ashlar::layer_division division);

}  // namespace tool
