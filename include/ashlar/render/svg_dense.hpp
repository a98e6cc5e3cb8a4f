// An overview of a schedule of thousands of passes: no numbers, and similar neighbours drawn as one.
#pragma once

#include <ashlar/render/svg_frame.hpp>

#include <cstddef>
#include <string>

namespace ashlar::render_detail {

inline constexpr std::size_t crowded = 4000;  // passes

std::size_t count_boxes(picture const& drawn);

// Styles with one path for all cells of a look: thick lines, so that a cell takes a dozen letters.
std::string looks_of_lines(picture const& drawn, svg_frame const& f);

void draw_lines(svg_canvas& canvas, picture const& drawn, svg_frame const& f);

}  // namespace ashlar::render_detail

#ifndef ASHLAR_COMPILED
#include <ashlar/render/svg_dense.ipp>
#endif
