// What goes from device to device, and what devices hold, in an SVG picture of a schedule.
#pragma once

#include <ashlar/render/svg_frame.hpp>

#include <string>

namespace ashlar::render_detail {

// A line with an open head.
std::string arrow(double x1, double y1, double x2, double y2);

// From the end of each pass to the start of those on other devices that need its result.
void draw_transfers(svg_canvas& canvas, schedule const& s, svg_frame const& f);

// Below each row its curve, all to the same scale, with the peak beside it; returns the room that the
// numbers take.
double draw_memory(svg_canvas& canvas, schedule const& s, svg_frame const& f, double height);

}  // namespace ashlar::render_detail

#ifndef ASHLAR_COMPILED
#include <ashlar/render/svg_transfers.ipp>
#endif
