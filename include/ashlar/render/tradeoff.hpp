// Draws the trade-off of utilisation, cost and time as two charts.
#pragma once

#include <ashlar/render/palette.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ashlar {

// One schedule's points: utilisation over samples per device, and cost over training time.
struct tradeoff_curve {
  std::string name;
  std::vector<std::pair<double, double>> utilisation;  // (samples per device, 0 .. 1)
  std::vector<std::pair<double, double>> cost;         // (time, cost), best batch for each cluster
  std::vector<int> clusters;                           // number of devices at each point of `cost`
};

// Both charts as one SVG picture.
std::string svg(std::vector<tradeoff_curve> const& curves, std::string_view title,
                picture_theme theme = picture_theme::follow_reader);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/tradeoff.ipp>
#endif
