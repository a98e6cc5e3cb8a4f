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

// Where it is logarithmic all values must be above zero; else it begins at zero. Values that are no such
// numbers stand at the beginning and do not set the scale.
struct curve_axis {
  std::string name;
  bool logarithmic = false;
  bool percent = false;
};

// A line with a dot at each point and, on the right, what they are; a dot tells its numbers.
std::string svg(std::vector<named_curve> const& curves, curve_axis const& x, curve_axis const& y,
                std::string_view title, picture_theme theme = picture_theme::follow_reader);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/named_curves.ipp>
#endif
