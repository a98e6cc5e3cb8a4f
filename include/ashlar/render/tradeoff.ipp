// Definitions of tradeoff.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/render/svg_chart.hpp>
#include <ashlar/render/tradeoff.hpp>

#include <algorithm>

namespace ashlar {

ASHLAR_INLINE std::string svg(std::vector<tradeoff_curve> const& curves, std::string_view title,
                              picture_theme theme) {
  using namespace render_detail;
  double least_batch = 1e300, most_batch = 0, least_time = 1e300, most_time = 0, least_cost = 1e300,
         most_cost = 0;
  for (tradeoff_curve const& c : curves) {
    for (auto const& [batch, share] : c.utilisation) {
      least_batch = std::min(least_batch, batch);
      most_batch = std::max(most_batch, batch);
    }
    for (auto const& [time, cost] : c.cost) {
      least_time = std::min(least_time, time);
      most_time = std::max(most_time, time);
      least_cost = std::min(least_cost, cost);
      most_cost = std::max(most_cost, cost);
    }
  }
  auto const apart = [](double least, double& most) { most = most > least ? most : 2 * least; };
  apart(least_batch, most_batch);
  apart(least_time, most_time);
  apart(least_cost, most_cost);

  svg_canvas canvas;
  canvas.text(56, 22, title);
  svg_chart left{.x = {.least = least_batch, .most = most_batch, .logarithmic = true}, .y = {}};
  left.y_percent = true;
  left.place(56, 52, 360, 300);
  left.axes(canvas, "samples per device", "utilisation");
  svg_chart right{.x = {.least = least_time / 1.25, .most = 1.1 * most_time, .logarithmic = true},
                  .y = {.least = 0.85 * least_cost, .most = 1.05 * most_cost}};
  right.place(500, 52, 360, 300);
  right.axes(canvas, "training time (1: one device, never idle)", "cost");
  double y = 66;
  for (std::size_t i = 0; i < curves.size(); ++i, y += 16) {
    std::string const look = "line" + std::to_string(i);
    left.curve(canvas, curves[i].utilisation, look);
    right.curve(canvas, curves[i].cost, look);
    for (auto const& [batch, share] : curves[i].utilisation)
      left.dot(canvas, batch, share, "dot" + std::to_string(i), curves[i].name);
    for (std::size_t n = 0; n < curves[i].cost.size() && n < curves[i].clusters.size(); ++n) {
      auto const& [time, cost] = curves[i].cost[n];
      std::string const count = std::to_string(curves[i].clusters[n]);
      right.dot(canvas, time, cost, "dot" + std::to_string(i),
                curves[i].name + ", " + count + " devices");
      if (i == 0) canvas.text(right.x(time) - 5, right.y(cost) + 12, count, "e s");
    }
    canvas.line(880, y - 4, 904, y - 4, look);
    canvas.text(910, y, curves[i].name);
  }
  return canvas.finish(1000, 400, title, theme, series_style(curves.size()), "");
}

}  // namespace ashlar
