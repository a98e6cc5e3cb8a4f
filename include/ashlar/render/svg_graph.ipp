// Definitions of svg_graph.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/render/graph_drawing.hpp>
#include <ashlar/render/svg_canvas.hpp>
#include <ashlar/render/svg_graph.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

namespace ashlar::render_detail {

// Gives devices with neighbouring numbers distant hues (turned by the golden angle).
ASHLAR_INLINE rgb colour_of_device(int device) {
  rgb colour{};
  for (std::size_t i = 0; i < 3; ++i) {
    double const turn = std::fmod(0.58 + device * 0.381966 + static_cast<double>(i) / 3, 1.0);
    double const ramp = std::abs(6 * turn - 3) - 1;  // of a hue's part in red, and so on
    double const part = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
    colour[i] = static_cast<int>(255 * (0.55 + 0.35 * part));
  }
  return colour;
}

}  // namespace ashlar::render_detail

namespace ashlar {

ASHLAR_INLINE std::string svg(stage_graph const& graph, placement const& where, svg_options const& o) {
  using namespace render_detail;
  if (graph.count() < 1) refuse({.broken = rule::counts_are_positive, .number = graph.count()});
  if (graph.count() > where.stage_count())
    refuse(wrong_size(table::stages_of_graph, graph.count(), where.stage_count()));
  constexpr double width = 86, height = 34, across = 136, down = 48, left = 20, top = 44;
  graph_drawing const layout(graph);
  double const middle = top + down * static_cast<double>(layout.row_count()) / 2;
  auto const x_of = [&](graph_drawing::point const& p) { return left + across * p.layer; };
  auto const y_of = [&](graph_drawing::point const& p) { return middle + down * p.row; };
  svg_canvas canvas;
  canvas.text(left, 18, o.title);
  for (std::vector<graph_drawing::point> const& edge : layout.edges()) {
    // The path is level through the layers between, and bends from one to the next.
    std::string path = "M" + px(x_of(edge[0]) + width) + " " + px(y_of(edge[0]));
    for (std::size_t i = 1; i < edge.size(); ++i) {
      double const from = x_of(edge[i - 1]) + width, to = x_of(edge[i]), bend = (from + to) / 2;
      path += "C" + px(bend) + " " + px(y_of(edge[i - 1])) + " " + px(bend) + " " + px(y_of(edge[i]))
              + " " + px(to) + " " + px(y_of(edge[i]));
      if (i + 1 < edge.size()) path += "h" + px(width);
    }
    canvas.path(path, "rule");
    double const x = x_of(edge.back()), y = y_of(edge.back());
    canvas.path("M" + px(x - 5) + " " + px(y - 3) + "L" + px(x) + " " + px(y) + "L" + px(x - 5) + " "
                    + px(y + 3),
                "rule");
  }
  for (int stage = 0; stage < graph.count(); ++stage) {
    graph_drawing::point const& p = layout.of(stage);
    std::string numbers;
    for (int r = 0; r < where.route_count(); ++r)
      numbers += (r == 0 ? "" : ", ") + std::to_string(where.device_of(r, stage));
    std::string const name = "stage " + std::to_string(stage),
                      on = (where.route_count() > 1 ? "devices " : "device ") + numbers,
                      size = graph.has_sizes()
                                 ? ", micro-batches of " + std::to_string(graph.size_of(stage))
                                 : "";
    canvas.box(x_of(p), y_of(p) - height / 2, width, height, colour_of_device(where.device_of(0, stage)),
               name + " on " + on + size);
    canvas.text(x_of(p) + width / 2, y_of(p) - 2,
                name + (graph.has_sizes() ? " x" + std::to_string(graph.size_of(stage)) : ""), "m dark");
    canvas.text(x_of(p) + width / 2, y_of(p) + 11, on, "m s dark");
  }
  return canvas.finish(2 * left + across * static_cast<double>(layout.layer_count()) - (across - width),
                       top + down * static_cast<double>(layout.row_count()) + 16, o.title, o.theme,
                       ".dark{fill:#000}");
}

}  // namespace ashlar
