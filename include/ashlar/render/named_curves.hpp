// Curves of several series over one axis.
#pragma once

#include <ashlar/render/palette.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ashlar {

// A curve and its name.
struct named_curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  // (x, y), by x
};

// An axis. All values must be above zero if it is logarithmic; else it begins at zero. Other values
// stand at the beginning and do not set the scale.
struct curve_axis {
  std::string name;
  bool logarithmic = false;
  bool percent = false;
};

// Draws a line with a dot at each point, and the names on the right. A dot's tooltip has its numbers.
std::string svg(std::vector<named_curve> const& curves, curve_axis const& x, curve_axis const& y,
                std::string_view title, picture_theme theme = picture_theme::follow_reader);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/named_curves.ipp>
#endif
