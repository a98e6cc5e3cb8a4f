// What may be asked of an SVG picture.
#pragma once

#include <ashlar/render/palette.hpp>

#include <string_view>

namespace ashlar {

struct svg_options {
  std::string_view title = "";
  double widest = 4000;  // pixels of the time axis; long schedules are drawn narrower, then without
                         // numbers
  picture_theme theme = picture_theme::follow_reader;
  bool transfers = false;  // arrows from device to device (schedules)
  bool memory = false;     // the chunk activations that each device holds, below its row (schedules)
  bool legend = true;
};

}  // namespace ashlar
