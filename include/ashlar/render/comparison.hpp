// Schedules as dots: bubble against memory.
#pragma once

#include <ashlar/render/svg_chart.hpp>
#include <ashlar/study/compare.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar {

// A dot a schedule, at the largest share of 1F1B's activations that a device holds and the bubble rate
// of the makespan; the pointer on it shows the numbers, and the least bubble rate of any schedule of
// the same stages with the same memory. Schedules that hold more than four times the activations stand
// at the right edge.
inline std::string svg(std::vector<comparison> const& all, std::string_view title,
                       picture_theme theme = picture_theme::follow_reader) {
  using namespace render_detail;
  struct dot {
    double memory, bubble;
    std::string name, words;
  };
  std::vector<dot> dots;
  double most_memory = 1.1, most_bubble = 0.05;
  for (comparison const& c : all) {
    double const memory = c.peaks.empty() ? 0 : *std::max_element(c.peaks.begin(), c.peaks.end());
    std::string words = std::string(c.entry->name) + ": bubble " + px(100 * c.bubble_rate) + " %, ";
    if (auto const least = comparison_bound(c))  // the same work within a shorter makespan
      words +=
          "no less than " + px(100 * (1 - (1 - c.bubble_rate) * c.makespan / least->makespan)) + " %, ";
    dots.push_back(
        {memory, c.bubble_rate, c.entry->name, words + "activations " + px(100 * memory) + " %"});
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

  dot_labels labels(chart);
  for (dot const& d : dots) {
    chart.dot(canvas, d.memory, d.bubble, "dot0", d.words);
    labels.add(canvas, chart.x(d.memory), chart.y(d.bubble), d.name);
  }
  return canvas.finish(760, 520, title, theme, series_style(1), "");
}

}  // namespace ashlar
