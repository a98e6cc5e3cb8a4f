// Definitions of frontier.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/render/frontier.hpp>
#include <ashlar/render/svg_chart.hpp>

#include <algorithm>
#include <cstddef>

namespace ashlar {

ASHLAR_INLINE std::string svg(std::vector<frontier_curve> const& curves, std::string_view title,
                              picture_theme theme) {
  using namespace render_detail;
  double least_memory = 1, most_memory = 1, most_overhead = 0.02;
  for (frontier_curve const& c : curves)
    for (auto const& [memory, overhead] : c.reached) {
      least_memory = std::min(least_memory, memory);
      most_memory = std::max(most_memory, memory);
      most_overhead = std::max(most_overhead, overhead);
    }
  svg_chart chart{.x = {.least = least_memory - 0.03, .most = most_memory + 0.22},
                  .y = {.most = 1.04 * most_overhead}};
  chart.x_percent = chart.y_percent = true;
  chart.place(56, 66, 680, 406);
  svg_canvas canvas;
  canvas.text(56, 18, title);
  canvas.text(56, 34,
              "lines: the least overhead that a search reaches within a limit on memory; "
              "the lower and the farther left, the better",
              "s");
  chart.axes(canvas, "limit on the activations of a device, of what 1F1B holds", "overhead of the span");
  for (std::size_t i = 0; i < curves.size(); ++i)
    chart.curve(canvas, curves[i].least, "least" + std::to_string(i));
  struct labelled {
    double overhead, memory;
    std::string name;
  };
  std::vector<labelled> dots;
  double y = 66;
  for (std::size_t i = 0; i < curves.size(); ++i, y += 16) {
    frontier_curve const& c = curves[i];
    std::string const n = std::to_string(i), open = c.reached.empty() ? "pair" : "open" + n;
    auto const dot = [&](double memory, double overhead, std::string const& look,
                         std::string const& name) {
      chart.dot(canvas, memory, overhead, look,
                name + ", " + px(100 * memory) + " %: overhead " + px(100 * overhead) + " %");
    };
    chart.curve(canvas, c.reached, "line" + n);
    for (auto const& [memory, overhead] : c.reached) dot(memory, overhead, "dot" + n, c.name);
    for (frontier_dot const& d : c.published) {
      if (d.memory > chart.x.most || d.overhead > chart.y.most) continue;
      dot(d.memory, d.overhead, open, d.name + " (" + c.name + ")");
      dots.push_back({d.overhead, d.memory, d.name});
    }
    if (c.reached.empty())
      canvas.box(765, y - 7, 6, 6, open);
    else
      canvas.line(756, y - 4, 780, y - 4, "line" + n);
    canvas.text(786, y, c.name);
  }
  // Lowest first: a label moves up if it has no room.
  merge_sort(dots, [](labelled const& a, labelled const& b) { return a.overhead < b.overhead; });
  dot_labels labels(chart);
  for (frontier_curve const& c : curves) {
    labels.keep_clear(c.reached);
    labels.keep_clear(c.least);
  }
  for (labelled const& d : dots) labels.keep_clear(chart.x(d.memory), chart.y(d.overhead));
  for (labelled const& d : dots) labels.add(canvas, chart.x(d.memory), chart.y(d.overhead), d.name);
  y += 8;
  canvas.line(756, y - 4, 780, y - 4, "least0");
  canvas.text(786, y, "no schedule is below");
  canvas.box(765, y + 9, 6, 6, "open0");
  canvas.text(786, y + 16, "published");
  return canvas.finish(940, 520, title, theme, series_style(curves.size(), true), "");
}

}  // namespace ashlar
