// A stage graph in words.
#pragma once

#include <ashlar/model/placement.hpp>
#include <ashlar/model/stage_graph.hpp>

#include <string>

namespace ashlar {

// Writes a line per stage: its devices, by route, the size of its micro-batches if sizes differ, and the
// stages after it.
std::string text(stage_graph const& graph, placement const& where);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/text_graph.ipp>
#endif
