// Where things stand in an SVG picture: time goes to the right, with one row per device.
#pragma once

#include <ashlar/render/picture.hpp>
#include <ashlar/render/svg_canvas.hpp>
#include <ashlar/render/svg_options.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace ashlar::render_detail {

// Pixels that words in letters 11 pixels high take, with some to spare: fonts differ.
inline double text_width(std::string_view words) {
  double width = 0;
  for (char c : words) {
    bool const narrow = std::string_view(" .,:;fijlrtI").find(c) != std::string_view::npos;
    bool const wide = std::string_view("mwMW").find(c) != std::string_view::npos;
    width += narrow ? 3.8 : wide ? 9.4 : 6.4;
  }
  return width;
}

struct svg_frame {
  double left = 66, top = 12, row = 26, gap = 4;
  double pixels_a_tick = 1;
  tick first = 0, last = 0;
  time_unit unit = {};

  double x(tick t) const { return left + static_cast<double>(t - first) * pixels_a_tick; }
  double y(std::size_t device) const { return top + static_cast<double>(device) * (row + gap); }
  double right() const { return x(last); }
  // In units: "12", "0.5".
  std::string number(tick t) const {
    if (t % unit.ticks == 0) return std::to_string(t / unit.ticks);
    std::string text = std::to_string(static_cast<double>(t) / static_cast<double>(unit.ticks));
    return text.erase(text.find_last_not_of('0') + 1);
  }
};

// Boxes wide enough for their text, unless the whole becomes too wide.
inline svg_frame frame_of(picture const& drawn, double box_width, double widest) {
  svg_frame f{.first = std::min<tick>(drawn.first, 0), .last = drawn.last};
  std::string const longest = "device " + std::to_string(drawn.rows.size());
  f.left = std::max(f.left, text_width(longest) + 16);
  double const length = static_cast<double>(f.last - f.first), room = std::max(1.0, widest);
  if (drawn.shortest > 0) f.pixels_a_tick = box_width / static_cast<double>(drawn.shortest);
  if (length * f.pixels_a_tick > room) f.pixels_a_tick = room / length;
  return f;
}

inline void draw_rows(svg_canvas& canvas, picture const& drawn, svg_frame const& f) {
  for (std::size_t d = 0; d < drawn.rows.size(); ++d) {
    canvas.text(f.left - 8, f.y(d) + f.row / 2 + 4, "device " + std::to_string(d), "e");
    canvas.box(f.left, f.y(d), f.right() - f.left, f.row, "idle");
  }
}

// Times along the lower edge, of whole units if there are several; returns where the axis ends.
inline double draw_axis(svg_canvas& canvas, svg_frame const& f, double y) {
  tick const least = f.last >= 4 * f.unit.ticks ? f.unit.ticks : 1;
  std::string const longest = f.number(least == 1 && f.last > 0 ? f.last - 1 : f.last);
  tick const step = least
                    * round_step(std::max(12.0, text_width(longest) + 8)
                                 / (f.pixels_a_tick * static_cast<double>(least)));
  std::string marks;
  for (tick t = 0; t <= f.last; t += step) {
    marks += "M" + px(f.x(t)) + " " + px(y) + "v4";
    canvas.text(f.x(t), y + 14, f.number(t), "m s");
  }
  canvas.path(marks, "rule");
  canvas.text(f.left - 8, y + 14, f.unit.name, "e s");
  return y + 20;
}

}  // namespace ashlar::render_detail
