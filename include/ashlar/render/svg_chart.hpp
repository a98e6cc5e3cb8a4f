// Axes for lines and dots.
#pragma once

#include <ashlar/render/svg_canvas.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ashlar::render_detail {

// A scale from data to pixels, linear or logarithmic. Values outside are drawn at the edge.
struct chart_scale {
  double least = 0, most = 1;
  double from = 0, to = 1;  // pixels
  bool logarithmic = false;

  double operator()(double value) const;

  // Round values along the scale, at most a dozen: 1, 2 or 5 times a power of ten; powers of two if it
  // is logarithmic.
  std::vector<double> marks() const;
};

// A value as a label: percent, or the fewest digits; on a logarithmic scale 1/8 for 0.125.
inline std::string chart_label(double value, bool percent, bool logarithmic) {
  if (percent) return px(100 * value) + " %";
  return logarithmic && value < 1 ? "1/" + px(1 / value) : px(value);
}

struct svg_chart {
  chart_scale x, y;
  bool x_percent = false, y_percent = false;

  // Sets the frame of `width` by `height` pixels at (left, top); y grows upwards.
  void place(double left, double top, double width, double height) {
    x.from = left, x.to = left + width;
    y.from = top + height, y.to = top;
  }

  void axes(svg_canvas& canvas, std::string_view x_name, std::string_view y_name) const;

  void curve(svg_canvas& canvas, std::vector<std::pair<double, double>> const& points,
             std::string_view look) const;

  void dot(svg_canvas& canvas, double at_x, double at_y, std::string_view look,
           std::string_view tip) const {
    canvas.box(x(at_x) - 3, y(at_y) - 3, 6, 6, look, tip);
  }
};

// Finds room for the labels of dots, clear of dots, curves and each other: on the right of the dot, on
// its left, or higher and lower, the nearer the better. A line leads to distant ones.
class dot_labels {
 public:
  // Refers to the chart.
  explicit dot_labels(svg_chart const& chart) : chart_(chart) {}

  // Keeps labels clear of a dot, or of a curve's points. Call it before adding labels.
  void keep_clear(double x, double y) { points_.emplace_back(x, y); }
  void keep_clear(std::vector<std::pair<double, double>> const& curve);

  // Puts a name next to a dot, where it covers nothing.
  void add(svg_canvas& canvas, double x, double y, std::string_view name);

 private:
  struct label {
    double from, to, y;
  };

  void place(svg_canvas& canvas, label const& l, double x, double y, bool ends_at_dot, bool far,
             std::string_view name);

  bool is_taken(label const& l) const;

  svg_chart const& chart_;
  std::vector<label> places_;
  std::vector<std::pair<double, double>> points_;
};

// The style of looks `line0`, `dot0`, ... for `count` series, in the palette's hues; `with_thin` adds
// `open0`, ..., hollow dots, and `least0`, ..., thin lines.
std::string series_style(std::size_t count, bool with_thin = false);

}  // namespace ashlar::render_detail

#ifndef ASHLAR_COMPILED
#include <ashlar/render/svg_chart.ipp>
#endif
