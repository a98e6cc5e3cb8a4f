// Schedules as dots: bubble against memory.
#pragma once

#include <ashlar/compare.hpp>
#include <ashlar/render/svg_canvas.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar {

// A dot a schedule, at the largest share of 1F1B's activations that a device holds and the bubble rate
// of the makespan; dots that would cover each other share one label.
inline std::string svg(std::vector<comparison> const& all, std::string_view title) {
  using namespace render_detail;
  constexpr double left = 56, top = 40, width = 640, height = 360;
  double most_memory = 1, most_bubble = 0.05;
  struct dot {
    double memory, bubble;
    std::string name;
  };
  std::vector<dot> dots;
  for (comparison const& c : all) {
    double const memory = c.peaks.empty() ? 0 : *std::max_element(c.peaks.begin(), c.peaks.end());
    dots.push_back({memory, c.bubble_rate, c.entry->name});
  }
  // What holds many times the activations of 1F1B would press all others into a corner.
  constexpr double far_right = 4;
  for (dot const& d : dots) {
    most_memory = std::max(most_memory, std::min(d.memory, far_right));
    most_bubble = std::max(most_bubble, d.bubble);
  }
  most_memory *= 1.05;
  most_bubble = std::min(1.0, most_bubble * 1.1);
  auto const x_of = [&](double memory) {
    return left + width * std::min(memory, most_memory) / most_memory;
  };
  auto const y_of = [&](double bubble) { return top + height * (1 - bubble / most_bubble); };

  svg_canvas canvas;
  canvas.text(left, 22, title);
  for (int i = 0; i <= 5; ++i) {
    double const memory = most_memory * i / 5, bubble = most_bubble * i / 5;
    canvas.line(x_of(memory), top, x_of(memory), top + height, i == 0 ? "rule" : "grid");
    canvas.line(left, y_of(bubble), left + width, y_of(bubble), i == 0 ? "rule" : "grid");
    canvas.text(x_of(memory), top + height + 16, std::to_string(static_cast<int>(100 * memory)) + " %",
                "m");
    canvas.text(left - 6, y_of(bubble) + 4, std::to_string(static_cast<int>(100 * bubble)) + " %", "e");
  }
  canvas.text(left + width / 2, top + height + 34, "activations held, of 1F1B's", "m");
  canvas.text(left - 6, top - 8, "bubble", "e");

  std::sort(dots.begin(), dots.end(), [](dot const& a, dot const& b) { return a.bubble < b.bubble; });
  std::vector<std::pair<double, double>> labels;  // taken places
  for (dot const& d : dots) {
    double const x = x_of(d.memory), y = y_of(d.bubble);
    canvas.box(
        x - 3, y - 3, 6, 6, colour_of_box(pass_kind::forward, 0, 1),
        d.name + ": bubble " + px(100 * d.bubble) + " %, activations " + px(100 * d.memory) + " %");
    double at = y + 4;
    auto const taken = [&] {
      return std::any_of(labels.begin(), labels.end(), [&](auto const& l) {
        return l.first < x + 120 && x < l.first + 120 && l.second < at + 10 && at < l.second + 10;
      });
    };
    while (taken()) at -= 4;
    labels.emplace_back(x, at);
    bool const right = x > left + width - 110;
    canvas.text(right ? x - 6 : x + 6, at, d.name + (d.memory > far_right ? " (more)" : ""),
                right ? "e s" : "s");
  }
  return canvas.finish(left + width + 24, top + height + 48, title);
}

}  // namespace ashlar
