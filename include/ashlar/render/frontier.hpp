// Overhead over limits on activations, for several placements of one model.
#pragma once

#include <ashlar/render/palette.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ashlar {

// Memory is a share of 1F1B's, overhead is that of the span.
struct frontier_dot {
  std::string name;
  double memory = 0, overhead = 0;
};

// One placement: the results of a search within each limit, the lower bounds, and published schedules.
struct frontier_curve {
  std::string name;
  std::vector<std::pair<double, double>> reached, least;  // (memory, overhead), by memory
  std::vector<frontier_dot> published = {};
};

// Draws a line through the reached points and a dashed one through the lower bounds. Published schedules
// are hollow dots, those of curves without a search in the colour of the text. Dots far beyond the
// limits and above all lines are left out.
std::string svg(std::vector<frontier_curve> const& curves, std::string_view title,
                picture_theme theme = picture_theme::follow_reader);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/frontier.ipp>
#endif
