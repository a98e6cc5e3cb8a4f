// The coordinates of an SVG picture: time goes to the right, with one row per device.
#pragma once

#include <ashlar/render/picture.hpp>
#include <ashlar/render/svg_canvas.hpp>
#include <ashlar/render/svg_options.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace ashlar::render_detail {

// Pixels of words in letters 11 pixels high, with a reserve because fonts differ.
double text_width(std::string_view words);

struct svg_frame {
  double left = 66, top = 12, row = 26, gap = 4;
  double pixels_a_tick = 1;
  tick first = 0, last = 0;
  time_unit unit = {};

  double x(tick t) const { return left + static_cast<double>(t - first) * pixels_a_tick; }
  double y(std::size_t device) const { return top + static_cast<double>(device) * (row + gap); }
  double right() const { return x(last); }
  // A time in units: "12", "0.5".
  std::string number(tick t) const;
};

// Throws violation: rule::counts_are_positive for a unit of less than a tick, rule::sizes_fit unless
// `widest` is from 1 to 1e6 pixels.
void must_be_drawable(svg_options const& options);

// Makes boxes wide enough for their text, unless the whole becomes too wide.
svg_frame frame_of(picture const& drawn, double box_width, double widest);

void draw_rows(svg_canvas& canvas, picture const& drawn, svg_frame const& f);

// Draws times along the lower edge, of whole units if there are several. Returns the end of the axis.
double draw_axis(svg_canvas& canvas, svg_frame const& f, double y);

}  // namespace ashlar::render_detail

#ifndef ASHLAR_COMPILED
#include <ashlar/render/svg_frame.ipp>
#endif
