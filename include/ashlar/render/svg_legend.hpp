// The legend of an SVG picture: its colours, shades, hatches and lines.
#pragma once

#include <ashlar/core/function_ref.hpp>
#include <ashlar/render/picture.hpp>
#include <ashlar/render/svg_canvas.hpp>
#include <ashlar/render/svg_frame.hpp>
#include <ashlar/render/svg_options.hpp>

#include <string_view>

namespace ashlar::render_detail {

// Draws samples with their words, in as many lines as they need.
class svg_legend {
 public:
  // Draws on the canvas, from left to right, in lines that begin at `top` (pixels).
  svg_legend(svg_canvas& canvas, double left, double top, double right)
      : canvas_(canvas), left_(left), right_(right), x_(left), y_(top) {}

  // draw(x, y) shows a sample that is `width` wide and 13 high.
  void item(double width, std::string_view words, function_ref<void(double, double)> draw);

  double bottom() const { return y_ + 19; }
  double reached() const { return reached_; }

 private:
  svg_canvas& canvas_;
  double left_, right_, x_, y_;
  double reached_ = 0;
};

// Returns the lower end of the legend; `right` grows to hold it.
double draw_legend(svg_canvas& canvas, picture const& drawn, svg_options const& options,
                   svg_frame const& f, double y, double& right);

}  // namespace ashlar::render_detail

#ifndef ASHLAR_COMPILED
#include <ashlar/render/svg_legend.ipp>
#endif
