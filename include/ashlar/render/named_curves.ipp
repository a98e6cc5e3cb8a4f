// Definitions of named_curves.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/render/named_curves.hpp>
#include <ashlar/render/svg_chart.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ashlar {

ASHLAR_INLINE std::string svg(std::vector<named_curve> const& curves, curve_axis const& x,
                              curve_axis const& y, std::string_view title, picture_theme theme) {
  using namespace render_detail;
  auto const scale_of = [&](curve_axis const& axis, auto of) {
    chart_scale scale{.least = 1e300, .most = 0, .logarithmic = axis.logarithmic};
    for (named_curve const& c : curves)
      for (auto const& point : c.points) {
        if (!std::isfinite(of(point)) || (axis.logarithmic && of(point) <= 0)) continue;
        scale.least = std::min(scale.least, of(point));
        scale.most = std::max(scale.most, of(point));
      }
    if (scale.most == 0) scale.least = 1;  // no points
    if (!axis.logarithmic) scale.least = 0;
    if (!(scale.most > scale.least)) scale.most = scale.least > 0 ? 2 * scale.least : 1;
    return scale;
  };
  svg_chart chart{.x = scale_of(x, [](auto const& p) { return p.first; }),
                  .y = scale_of(y, [](auto const& p) { return p.second; }),
                  .x_percent = x.percent,
                  .y_percent = y.percent};
  chart.place(56, 52, 560, 300);
  svg_canvas canvas;
  canvas.text(56, 22, title);
  chart.axes(canvas, x.name, y.name);
  double at = 66;
  for (std::size_t i = 0; i < curves.size(); ++i, at += 16) {
    std::string const n = std::to_string(i);
    chart.curve(canvas, curves[i].points, "line" + n);
    for (auto const& [px_x, px_y] : curves[i].points)
      chart.dot(canvas, px_x, px_y, "dot" + n,
                curves[i].name + ": " + chart_label(px_x, x.percent, x.logarithmic) + ", "
                    + chart_label(px_y, y.percent, y.logarithmic));
    canvas.line(636, at - 4, 660, at - 4, "line" + n);
    canvas.text(666, at, curves[i].name);
  }
  return canvas.finish(860, 400, title, theme, series_style(curves.size()), "");
}

}  // namespace ashlar
