// Draws transfers between devices, and the memory that devices hold, in an SVG picture of a schedule.
#pragma once

#include <ashlar/render/svg_frame.hpp>

#include <string>

namespace ashlar::render_detail {

// A line with an open head.
std::string arrow(double x1, double y1, double x2, double y2);

// Draws an arrow from the end of each pass to the start of those on other devices that need its result.
void draw_transfers(svg_canvas& canvas, schedule const& s, svg_frame const& f);

// Draws a curve below each row, all to the same scale, with the peak next to it. Returns the width of
// the numbers.
double draw_memory(svg_canvas& canvas, schedule const& s, svg_frame const& f, double height);

}  // namespace ashlar::render_detail

#ifndef ASHLAR_COMPILED
#include <ashlar/render/svg_transfers.ipp>
#endif
