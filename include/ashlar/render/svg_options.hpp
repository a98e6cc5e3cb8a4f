// The options of an SVG picture.
#pragma once

#include <ashlar/core/ticks.hpp>
#include <ashlar/render/palette.hpp>

#include <string_view>

namespace ashlar {

// What times are counted in: this many ticks have a name.
struct time_unit {
  tick ticks = 1;
  std::string_view name = "ticks";
};

// How an SVG picture is drawn.
struct svg_options {
  std::string_view title = "";
  double widest = 4000;  // pixels of the time axis; long schedules are drawn narrower, then without
                         // numbers
  picture_theme theme = picture_theme::follow_reader;
  bool transfers = false;  // arrows from device to device (schedules)
  bool memory = false;     // the chunk activations that each device holds, below its row (schedules)
  bool legend = true;
  time_unit unit = {};  // of the time axis and of words at the pointer (schedules)
};

}  // namespace ashlar
