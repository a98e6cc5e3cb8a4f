// A building block with its lifespans and its interval.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/render/svg_options.hpp>

#include <string>

namespace ashlar {

// Draws the cells at their offsets, each with its offset below its letter; below each device a bar per
// stage from the start of its forward to the end of the pass that frees its activations, and beside it
// the most activations that the device holds when the block is repeated; the interval as brackets above.
// Throws violation as svg(schedule) does, of check_form(b).
std::string svg(block const& b, svg_options const& options = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/svg_block.ipp>
#endif
