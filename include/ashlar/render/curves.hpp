// Curves over one axis in panels side by side, for measurements of a training run.
#pragma once

#include <ashlar/render/palette.hpp>

#include <string>
#include <utility>
#include <vector>

namespace ashlar {

// Curves of points (x, y), by x, none below 0.
struct curve_panel {
  std::string name;
  std::vector<std::vector<std::pair<double, double>>> curves;
};

// The title of a panel, and the names of its axes.
struct curve_names {
  std::string title, x, y;
};

// Draws at most four panels in a row, all on the same axes, which begin at 0.
std::string svg(std::vector<curve_panel> const& panels, curve_names const& names,
                picture_theme theme = picture_theme::follow_reader);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/curves.ipp>
#endif
