// Schedules as dots: overhead against memory.
#pragma once

#include <ashlar/render/svg_chart.hpp>
#include <ashlar/study/compare.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar {

struct compared_schedule {
  std::string name;
  comparison numbers;
  std::optional<compared_bound> least = {};
};

// A dot a schedule, at the largest share of 1F1B's activations that a device holds and the overhead
// of the makespan; the pointer on it shows the numbers, and the least overhead of any schedule of
// the same stages with the same memory. Schedules that hold more than four times the activations stand
// at the right edge.
inline std::string svg(std::vector<compared_schedule> const& all, std::string_view title,
                       picture_theme theme = picture_theme::follow_reader) {
  using namespace render_detail;
  struct dot {
    double memory, overhead;
    std::string name, words;
  };
  std::vector<dot> dots;
  double most_memory = 1.1, most_overhead = 0.05;
  for (compared_schedule const& own : all) {
    comparison const& c = own.numbers;
    double const memory = c.peaks.empty() ? 0 : *std::max_element(c.peaks.begin(), c.peaks.end());
    std::string words = own.name + ": overhead " + px(100 * c.overhead) + " %, ";
    if (own.least)  // the same work within a shorter makespan
      words +=
          "no less than " + px(100 * (1 - (1 - c.overhead) * c.makespan / own.least->makespan)) + " %, ";
    dots.push_back({memory, c.overhead, own.name, words + "activations " + px(100 * memory) + " %"});
    most_memory = std::max(most_memory, std::min(4.0, 1.05 * memory));
    most_overhead = std::max(most_overhead, std::min(1.0, 1.1 * c.overhead));
  }
  std::sort(dots.begin(), dots.end(),
            [](dot const& a, dot const& b) { return a.overhead < b.overhead; });

  svg_chart chart{.x = {.most = most_memory}, .y = {.most = most_overhead}};
  chart.x_percent = chart.y_percent = true;
  chart.place(56, 52, 680, 420);
  svg_canvas canvas;
  canvas.text(56, 22, title);
  chart.axes(canvas, "activations held, of 1F1B's", "overhead: idle or recomputing");

  dot_labels labels(chart);
  for (dot const& d : dots) {
    chart.dot(canvas, d.memory, d.overhead, "dot0", d.words);
    labels.add(canvas, chart.x(d.memory), chart.y(d.overhead), d.name);
  }
  return canvas.finish(760, 520, title, theme, series_style(1), "");
}

}  // namespace ashlar
