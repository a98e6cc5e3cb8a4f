// Definitions of svg_frame.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/render/svg_frame.hpp>

#include <algorithm>

namespace ashlar::render_detail {

ASHLAR_INLINE double text_width(std::string_view words) {
  double width = 0;
  for (char c : words) {
    bool const narrow = std::string_view(" .,:;fijlrtI").find(c) != std::string_view::npos;
    bool const wide = std::string_view("mwMW").find(c) != std::string_view::npos;
    width += narrow ? 3.8 : wide ? 9.4 : 6.4;
  }
  return width;
}

ASHLAR_INLINE std::string svg_frame::number(tick t) const {
  constexpr tick millionths = 1'000'000;
  tick const size = t < 0 ? -t : t;
  double const rest = static_cast<double>(size % unit.ticks) / static_cast<double>(unit.ticks);
  tick const part = static_cast<tick>(rest * static_cast<double>(millionths) + 0.5);
  tick const whole = size / unit.ticks + part / millionths;
  std::string text = std::to_string(whole);
  if (part % millionths != 0) {
    std::string digits = std::to_string(millionths + part % millionths);
    digits[0] = '.';
    text += digits.erase(digits.find_last_not_of('0') + 1);
  }
  return t < 0 && text != "0" ? "-" + text : text;
}

ASHLAR_INLINE void must_be_drawable(svg_options const& options) {
  if (options.unit.ticks < 1)
    refuse({.broken = rule::counts_are_positive, .number = options.unit.ticks});
  if (!(options.widest >= 1 && options.widest <= 1e6))
    refuse({.broken = rule::sizes_fit, .number = options.widest > 1 ? max_tick : -1});
}

ASHLAR_INLINE svg_frame frame_of(picture const& drawn, double box_width, double widest) {
  svg_frame f{.first = std::min<tick>(drawn.first, 0), .last = drawn.last};
  std::string const longest = "device " + std::to_string(drawn.rows.size());
  f.left = std::max(f.left, text_width(longest) + 16);
  double const length = static_cast<double>(f.last - f.first), room = std::max(1.0, widest);
  if (drawn.shortest > 0) f.pixels_a_tick = box_width / static_cast<double>(drawn.shortest);
  if (length * f.pixels_a_tick > room) f.pixels_a_tick = room / length;
  return f;
}

ASHLAR_INLINE void draw_rows(svg_canvas& canvas, picture const& drawn, svg_frame const& f) {
  for (std::size_t d = 0; d < drawn.rows.size(); ++d) {
    canvas.text(f.left - 8, f.y(d) + f.row / 2 + 4, "device " + std::to_string(d), "e");
    canvas.box(f.left, f.y(d), f.right() - f.left, f.row, "idle");
  }
}

ASHLAR_INLINE double draw_axis(svg_canvas& canvas, svg_frame const& f, double y) {
  tick const least = f.last / 4 >= f.unit.ticks ? f.unit.ticks : 1;
  std::string const longest = f.number(least == 1 && f.last > 0 ? f.last - 1 : f.last);
  tick const step =
      saturating_product(least, round_step(std::max(12.0, text_width(longest) + 8)
                                           / (f.pixels_a_tick * static_cast<double>(least))));
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
