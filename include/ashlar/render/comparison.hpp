// Schedules as dots: bubble against memory.
#pragma once

#include <ashlar/compare.hpp>
#include <ashlar/render/svg_chart.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ashlar {

// A dot a schedule, at the largest share of 1F1B's activations that a device holds and the bubble rate
// of the makespan. Schedules that hold more than four times the activations stand at the right edge.
inline std::string svg(std::vector<comparison> const& all, std::string_view title,
                       picture_theme theme = picture_theme::follow_reader) {
  using namespace render_detail;
  struct dot {
    double memory, bubble;
    std::string name;
  };
  std::vector<dot> dots;
  double most_memory = 1.1, most_bubble = 0.05;
  for (comparison const& c : all) {
    double const memory = c.peaks.empty() ? 0 : *std::max_element(c.peaks.begin(), c.peaks.end());
    dots.push_back({memory, c.bubble_rate, c.entry->name});
    most_memory = std::max(most_memory, std::min(4.0, 1.05 * memory));
    most_bubble = std::max(most_bubble, std::min(1.0, 1.1 * c.bubble_rate));
  }
  std::sort(dots.begin(), dots.end(), [](dot const& a, dot const& b) { return a.bubble < b.bubble; });

  svg_chart chart{.x = {.most = most_memory}, .y = {.most = most_bubble}};
  chart.x_percent = chart.y_percent = true;
  chart.place(56, 52, 680, 420);
  svg_canvas canvas;
  canvas.text(56, 22, title);
  chart.axes(canvas, "activations held, of 1F1B's", "bubble rate");

  std::vector<std::pair<double, double>> labels;  // places that are taken
  for (dot const& d : dots) {
    double const x = chart.x(d.memory), y = chart.y(d.bubble);
    chart.dot(
        canvas, d.memory, d.bubble, "dot0",
        d.name + ": bubble " + px(100 * d.bubble) + " %, activations " + px(100 * d.memory) + " %");
    double at = y + 3;
    auto const taken = [&] {
      return std::any_of(labels.begin(), labels.end(), [&](auto const& l) {
        return l.first < x + 110 && x < l.first + 110 && l.second < at + 9 && at < l.second + 9;
      });
    };
    while (taken()) at -= 3;
    labels.emplace_back(x, at);
    bool const at_edge = x > chart.x.to - 110;
    canvas.text(at_edge ? x - 6 : x + 6, at, d.name, at_edge ? "e s" : "s");
  }
  return canvas.finish(760, 520, title, theme, series_style(1), "");
}

}  // namespace ashlar
