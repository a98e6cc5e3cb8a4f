// Definitions of svg_chart.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/render/svg_chart.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ashlar::render_detail {

ASHLAR_INLINE double chart_scale::operator()(double value) const {
  double const v = value < least ? least : value > most ? most : value;
  double const share =
      logarithmic ? std::log(v / least) / std::log(most / least) : (v - least) / (most - least);
  return share >= 0 ? from + share * (to - from) : from;  // NaN is at the beginning
}

ASHLAR_INLINE std::vector<double> chart_scale::marks() const {
  constexpr std::size_t many = 64;  // limit, because rounding may leave no step
  std::vector<double> all;
  if (logarithmic) {
    double factor = 2;
    while (std::log(most / least) / std::log(factor) > 12) factor *= 2;
    for (double v = std::exp2(std::ceil(std::log2(least))); v <= most && all.size() < many; v *= factor)
      all.push_back(v);
    return all;
  }
  double step = std::pow(10, std::floor(std::log10((most - least) / 4)));
  for (double times : {1., 2., 5., 10.})
    if ((most - least) / (step * times) <= 8) {
      step *= times;
      break;
    }
  for (double v = std::ceil(least / step) * step; v <= most + step / 1000 && all.size() < many;
       v += step)
    all.push_back(v);
  return all;
}

ASHLAR_INLINE void svg_chart::axes(svg_canvas& canvas, std::string_view x_name,
                                   std::string_view y_name) const {
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

ASHLAR_INLINE void svg_chart::curve(svg_canvas& canvas,
                                    std::vector<std::pair<double, double>> const& points,
                                    std::string_view look) const {
  std::string path;
  for (auto const& [px_x, px_y] : points)
    path += (path.empty() ? "M" : "L") + px(x(px_x)) + " " + px(y(px_y));
  canvas.path(path, look);
}

ASHLAR_INLINE void dot_labels::keep_clear(std::vector<std::pair<double, double>> const& curve) {
  constexpr double apart = 4;
  for (std::size_t i = 1; i < curve.size(); ++i) {
    double const x0 = chart_.x(curve[i - 1].first), y0 = chart_.y(curve[i - 1].second);
    double const dx = chart_.x(curve[i].first) - x0, dy = chart_.y(curve[i].second) - y0;
    int const parts = static_cast<int>(std::hypot(dx, dy) / apart) + 1;
    for (int k = 0; k <= parts; ++k) keep_clear(x0 + dx * k / parts, y0 + dy * k / parts);
  }
}

ASHLAR_INLINE void dot_labels::add(svg_canvas& canvas, double x, double y, std::string_view name) {
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

ASHLAR_INLINE void dot_labels::place(svg_canvas& canvas, label const& l, double x, double y,
                                     bool ends_at_dot, bool far, std::string_view name) {
  places_.push_back(l);
  if (far) canvas.line(x, y, ends_at_dot ? l.to : l.from, l.y - 3, "rule");
  canvas.text(ends_at_dot ? l.to : l.from, l.y, name, ends_at_dot ? "e s" : "s");
}

ASHLAR_INLINE bool dot_labels::is_taken(label const& l) const {
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

ASHLAR_INLINE std::string series_style(std::size_t count, bool with_thin) {
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
