// Axes for lines and dots.
#pragma once

#include <ashlar/render/svg_canvas.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ashlar::render_detail {

// A scale from data to pixels, linear or logarithmic; what lies outside is drawn at the edge.
struct chart_scale {
  double least = 0, most = 1;
  double from = 0, to = 1;  // pixels
  bool logarithmic = false;

  double operator()(double value) const {
    double const v = value < least ? least : value > most ? most : value;
    double const share =
        logarithmic ? std::log(v / least) / std::log(most / least) : (v - least) / (most - least);
    return from + share * (to - from);
  }

  // Round values along the scale, at most a dozen: 1, 2 or 5 times a power of ten; powers of two where
  // it is logarithmic.
  std::vector<double> marks() const {
    std::vector<double> all;
    if (logarithmic) {
      double factor = 2;
      while (std::log(most / least) / std::log(factor) > 12) factor *= 2;
      for (double v = std::exp2(std::ceil(std::log2(least))); v <= most; v *= factor) all.push_back(v);
      return all;
    }
    double step = std::pow(10, std::floor(std::log10((most - least) / 4)));
    for (double times : {1., 2., 5., 10.})
      if ((most - least) / (step * times) <= 8) {
        step *= times;
        break;
      }
    for (double v = std::ceil(least / step) * step; v <= most + step / 1000; v += step) all.push_back(v);
    return all;
  }
};

// A value as a label: percent, or as few digits as it takes; on a logarithmic scale 1/8 for 0.125.
inline std::string chart_label(double value, bool percent, bool logarithmic) {
  if (percent) return px(100 * value) + " %";
  return logarithmic && value < 1 ? "1/" + px(1 / value) : px(value);
}

struct svg_chart {
  chart_scale x, y;
  bool x_percent = false, y_percent = false;

  // The frame of `width` by `height` pixels at (left, top); y grows upwards.
  void place(double left, double top, double width, double height) {
    x.from = left, x.to = left + width;
    y.from = top + height, y.to = top;
  }

  void axes(svg_canvas& canvas, std::string_view x_name, std::string_view y_name) const {
    std::string grid;
    for (double v : x.marks()) {
      grid += "M" + px(x(v)) + " " + px(y.from) + "V" + px(y.to);
      canvas.text(x(v), y.from + 15, chart_label(v, x_percent, x.logarithmic), "m s");
    }
    for (double v : y.marks()) {
      grid += "M" + px(x.from) + " " + px(y(v)) + "H" + px(x.to);
      canvas.text(x.from - 6, y(v) + 3, chart_label(v, y_percent, y.logarithmic), "e s");
    }
    canvas.path(grid, "grid");
    canvas.path("M" + px(x.from) + " " + px(y.to) + "V" + px(y.from) + "H" + px(x.to), "rule");
    canvas.text((x.from + x.to) / 2, y.from + 32, x_name, "m");
    canvas.text(x.from - 30, y.to - 10, y_name);
  }

  void curve(svg_canvas& canvas, std::vector<std::pair<double, double>> const& points,
             std::string_view look) const {
    std::string path;
    for (auto const& [px_x, px_y] : points)
      path += (path.empty() ? "M" : "L") + px(x(px_x)) + " " + px(y(px_y));
    canvas.path(path, look);
  }

  void dot(svg_canvas& canvas, double at_x, double at_y, std::string_view look,
           std::string_view tip) const {
    canvas.box(x(at_x) - 3, y(at_y) - 3, 6, 6, look, tip);
  }
};

// Finds room for the labels of dots, clear of dots, curves and each other: on the right of the dot, on
// its left, or higher and lower, the nearer the better. A line leads to those that are far away.
class dot_labels {
 public:
  explicit dot_labels(svg_chart const& chart) : chart_(chart) {}

  // Before the labels: a dot, the points of a curve.
  void keep_clear(double x, double y) { points_.emplace_back(x, y); }
  void keep_clear(std::vector<std::pair<double, double>> const& curve) {
    constexpr double apart = 4;
    for (std::size_t i = 1; i < curve.size(); ++i) {
      double const x0 = chart_.x(curve[i - 1].first), y0 = chart_.y(curve[i - 1].second);
      double const dx = chart_.x(curve[i].first) - x0, dy = chart_.y(curve[i].second) - y0;
      int const parts = static_cast<int>(std::hypot(dx, dy) / apart) + 1;
      for (int k = 0; k <= parts; ++k) keep_clear(x0 + dx * k / parts, y0 + dy * k / parts);
    }
  }

  void add(svg_canvas& canvas, double x, double y, std::string_view name) {
    constexpr double gap = 6, letter = 4.6, step = 3, far = 12, highest = 300;
    double const width = letter * static_cast<double>(name.size());
    label const right{x + gap, x + gap + width, y + 3}, left{x - gap - width, x - gap, y + 3};
    for (double away = 0; away < highest; away += step)
      for (double const by : {-away, away})
        for (label l : {right, left}) {
          l.y += by;
          bool const outside = l.from < chart_.x.from || l.to > chart_.x.to || l.y > chart_.y.from - 2
                               || l.y < chart_.y.to + 8;
          if (outside || is_taken(l)) continue;
          place(canvas, l, x, y, l.to<x, away> far, name);
          return;
        }
    place(canvas, right, x, y, false, false, name);  // there is no room at all
  }

 private:
  struct label {
    double from, to, y;
  };

  void place(svg_canvas& canvas, label const& l, double x, double y, bool ends_at_dot, bool far,
             std::string_view name) {
    places_.push_back(l);
    if (far) canvas.line(x, y, ends_at_dot ? l.to : l.from, l.y - 3, "rule");
    canvas.text(ends_at_dot ? l.to : l.from, l.y, name, ends_at_dot ? "e s" : "s");
  }

  bool is_taken(label const& l) const {
    constexpr double height = 9, clear = 2;
    return std::any_of(places_.begin(), places_.end(),
                       [&](label const& other) {
                         return other.from < l.to && l.from < other.to && other.y < l.y + height
                                && l.y < other.y + height;
                       })
           || std::any_of(points_.begin(), points_.end(), [&](std::pair<double, double> const& p) {
                return l.from - clear < p.first && p.first < l.to + clear && l.y - height < p.second
                       && p.second < l.y + clear;
              });
  }

  svg_chart const& chart_;
  std::vector<label> places_;
  std::vector<std::pair<double, double>> points_;
};

// Looks `line0`, `dot0`, ... of `count` series, in the palette's hues; `with_thin`: also `open0`,
// ..., dots that are not filled, and `least0`, ..., thin lines.
inline std::string series_style(std::size_t count, bool with_thin = false) {
  constexpr std::size_t hue_count = pass_kinds;
  static constexpr pass_kind hues[hue_count] = {
      pass_kind::forward,   pass_kind::backward_input, pass_kind::backward_weight,
      pass_kind::recompute, pass_kind::work,           pass_kind::backward};
  static constexpr char const* dashes[] = {"", ";stroke-dasharray:6 3", ";stroke-dasharray:2 2"};
  std::string style;
  for (std::size_t i = 0; i < count; ++i) {
    std::string const colour = hex(colour_of_box(hues[i % hue_count], 1, 6)), n = std::to_string(i);
    style +=
        ".line" + n + "{fill:none;stroke-width:2;stroke:" + colour + dashes[i / hue_count % 3] + "}";
    style += ".dot" + n + "{fill:" + colour + "}";
    if (!with_thin) continue;
    style += ".open" + n + "{fill:none;stroke-width:1.5;stroke:" + colour + "}";
    style += ".least" + n + "{fill:none;stroke-dasharray:4 3;stroke:" + colour + "}";
  }
  return style;
}

}  // namespace ashlar::render_detail
