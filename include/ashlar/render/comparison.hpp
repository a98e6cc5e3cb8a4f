// Schedules as dots: overhead against memory.
#pragma once

#include <ashlar/render/palette.hpp>
#include <ashlar/study/compare.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar {

// A dot: a schedule, its numbers and its bound.
struct compared_schedule {
  std::string name;
  comparison numbers;
  std::optional<compared_bound> least = {};
  std::string placement = "";  // schedules of one placement have one colour
};

// Draws a dot per schedule, in the colour of its placement, at the largest share of 1F1B's activations
// that a device holds and the overhead of the makespan. A tooltip shows the numbers, and the least
// overhead of any schedule of the same stages with the same memory. Outliers stand at the edge, with
// their numbers. A schedule that does not train is a line of the legend.
std::string svg(std::vector<compared_schedule> const& all, std::string_view title,
                picture_theme theme = picture_theme::follow_reader);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/comparison.ipp>
#endif
