// Definitions of curves.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/render/curves.hpp>
#include <ashlar/render/svg_chart.hpp>

#include <algorithm>
#include <cstddef>

namespace ashlar {

ASHLAR_INLINE std::string svg(std::vector<curve_panel> const& panels, curve_names const& names,
                              picture_theme theme) {
  using namespace render_detail;
  constexpr double width = 200, height = 130, across = 250, down = 200, left = 50, top = 64;
  constexpr std::size_t in_a_row = 4;
  svg_chart chart{.x = {.most = 1e-9}, .y = {.most = 1e-9}};
  std::size_t most_curves = 0;
  for (curve_panel const& p : panels) {
    most_curves = std::max(most_curves, p.curves.size());
    for (auto const& curve : p.curves)
      for (auto const& [x, y] : curve) {
        chart.x.most = std::max(chart.x.most, x);
        chart.y.most = std::max(chart.y.most, 1.04 * y);
      }
  }
  svg_canvas canvas;
  canvas.text(left - 30, 18, names.title);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    chart.place(left + across * static_cast<double>(i % in_a_row),
                top + down * static_cast<double>(i / in_a_row), width, height);
    chart.axes(canvas, names.x, names.y);
    canvas.text(chart.x.to, chart.y.to - 10, panels[i].name, "e");
    for (std::size_t c = 0; c < panels[i].curves.size(); ++c)
      chart.curve(canvas, panels[i].curves[c], "line" + std::to_string(c));
  }
  auto const columns = static_cast<double>(std::min(panels.size(), in_a_row)),
             rows = static_cast<double>((panels.size() + in_a_row - 1) / in_a_row);
  return canvas.finish(across * columns + 20, top + down * rows, names.title, theme,
                       series_style(most_curves));
}

}  // namespace ashlar
