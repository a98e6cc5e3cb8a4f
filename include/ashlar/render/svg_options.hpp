// The options of an SVG picture.
#pragma once

#include <ashlar/core/ticks.hpp>
#include <ashlar/render/palette.hpp>

#include <string_view>

namespace ashlar {

// The unit of displayed times: a name for this many ticks.
struct time_unit {
  tick ticks = 1;
  std::string_view name = "ticks";
};

// The style and content of an SVG picture.
struct svg_options {
  std::string_view title = "";
  double widest = 4000;  // pixels of the time axis; long schedules get narrow cells without numbers
  picture_theme theme = picture_theme::follow_reader;
  bool transfers = false;  // arrows from device to device (schedules)
  bool memory = false;     // the chunk activations that each device holds, below its row (schedules)
  bool legend = true;
  time_unit unit = {};  // of the time axis and of tooltips (schedules)
};

}  // namespace ashlar
