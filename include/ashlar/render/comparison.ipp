// Definitions of comparison.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/render/comparison.hpp>
#include <ashlar/render/svg_chart.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ashlar::render_detail {

// Schedules that a picture does not distinguish.
struct comparison_dot {
  double memory, overhead;
  std::size_t series;
  std::string names, words;
};

}  // namespace ashlar::render_detail

namespace ashlar::render_detail {

// Ends an axis at the largest value within three times the median. Values beyond stand at the edge and
// do not set the scale.
ASHLAR_INLINE double most_but_outliers(std::vector<double> values, double at_least) {
  if (values.empty()) return at_least;
  std::sort(values.begin(), values.end());
  double const middle = std::max(values[values.size() / 2], at_least / 3);
  double most = at_least;
  for (double const v : values)
    if (v <= 3 * middle) most = std::max(most, v);
  return 1.08 * most;
}

}  // namespace ashlar::render_detail

namespace ashlar {

ASHLAR_INLINE std::string svg(std::vector<compared_schedule> const& all, std::string_view title,
                              picture_theme theme) {
  using namespace render_detail;
  auto const memory_of = [](comparison const& c) {
    return c.peaks.empty() ? 0 : *std::max_element(c.peaks.begin(), c.peaks.end());
  };
  std::vector<double> memories, overheads;
  for (compared_schedule const& s : all)
    if (s.numbers.trains) {
      memories.push_back(memory_of(s.numbers));
      overheads.push_back(s.numbers.overhead);
    }
  svg_chart chart{.x = {.most = most_but_outliers(memories, 1.1)},
                  .y = {.most = most_but_outliers(overheads, 0.05)}};
  chart.x_percent = chart.y_percent = true;
  chart.place(56, 66, 680, 406);

  std::vector<comparison_dot> dots;
  std::vector<std::string> series, apart;
  for (compared_schedule const& s : all) {
    comparison const& c = s.numbers;
    double const memory = memory_of(c);
    std::string words = s.name + ": overhead " + px(100 * c.overhead) + " %, ";
    if (s.least)  // the same work within a shorter makespan
      words +=
          "no less than " + px(100 * (1 - (1 - c.overhead) * c.makespan / s.least->makespan)) + " %, ";
    words += "activations " + px(100 * memory) + " %";
    if (!c.trains) {
      apart.push_back(words);
      continue;
    }
    std::size_t const hue =
        static_cast<std::size_t>(std::find(series.begin(), series.end(), s.placement) - series.begin());
    if (hue == series.size()) series.push_back(s.placement);
    std::string name = s.name;
    if (memory > chart.x.most) name += " (" + px(std::round(100 * memory)) + " % held)";
    if (c.overhead > chart.y.most) name += " (overhead " + px(std::round(100 * c.overhead)) + " %)";
    double const x = chart.x(memory), y = chart.y(c.overhead);
    auto const same = std::find_if(dots.begin(), dots.end(), [&](comparison_dot const& d) {
      return d.series == hue && std::abs(chart.x(d.memory) - x) < 2
             && std::abs(chart.y(d.overhead) - y) < 2;
    });
    if (same == dots.end()) {
      dots.push_back({memory, c.overhead, hue, name, words});
    } else {
      same->names += ", " + name;
      same->words += "; " + words;
    }
  }

  svg_canvas canvas;
  canvas.text(56, 18, title);
  canvas.text(
      56, 34,
      "each schedule by what it costs in time and in memory; the nearer to the lower left, the better",
      "s");
  chart.axes(canvas, "most activations held by a device, as a share of 1F1B's",
             "overhead: idle or recomputing");
  dot_labels labels(chart);
  for (comparison_dot const& d : dots) labels.keep_clear(chart.x(d.memory), chart.y(d.overhead));
  for (comparison_dot const& d : dots)
    chart.dot(canvas, d.memory, d.overhead, "dot" + std::to_string(d.series), d.words);
  for (comparison_dot const& d : dots)
    labels.add(canvas, chart.x(d.memory), chart.y(d.overhead), d.names);
  double y = 66;
  for (std::size_t i = 0; i < series.size(); ++i, y += 16) {
    canvas.box(760, y - 7, 6, 6, "dot" + std::to_string(i));
    canvas.text(772, y, series[i].empty() ? "schedules" : series[i]);
  }
  for (std::string const& words : apart) {
    canvas.text(760, y += 8, "apart, because it does not train:", "s");
    canvas.text(760, y += 12, words.substr(0, words.find(',')), "s");
  }
  return canvas.finish(940, 520, title, theme, series_style(series.size()), "");
}

}  // namespace ashlar
