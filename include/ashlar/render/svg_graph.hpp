// A stage graph as a picture: stages from left to right, in the colours of their devices.
#pragma once

#include <ashlar/model/placement.hpp>
#include <ashlar/model/stage_graph.hpp>
#include <ashlar/render/svg_options.hpp>

#include <string>

namespace ashlar {

// Draws a box for each stage: its number, the size of its micro-batches if sizes differ, and its
// devices, by route; the colour is that of the first. Tooltips say this in words. Throws violation:
// rule::tables_agree for a stage without a place, rule::counts_are_positive for no stages.
std::string svg(stage_graph const& graph, placement const& where, svg_options const& o = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/svg_graph.ipp>
#endif
