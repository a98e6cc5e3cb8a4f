// Pictures for documents: schedules and blocks as the papers draw them.
#pragma once

#include <ashlar/render/picture.hpp>
#include <ashlar/render/svg_canvas.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar {

struct svg_options {
  std::string_view title = "";
  double widest =
      4000;  // pixels of the time axis; long schedules are drawn narrower, then without numbers
};

namespace render_detail {

// Where things stand.
struct svg_frame {
  double left = 66, top = 12, row = 26, gap = 4;
  double pixels_a_tick = 1;
  tick first = 0, last = 0;

  double x(tick t) const { return left + static_cast<double>(t - first) * pixels_a_tick; }
  double y(std::size_t device) const { return top + static_cast<double>(device) * (row + gap); }
  double right() const { return x(last); }
};

// Boxes wide enough for their text, unless the whole becomes too wide.
inline svg_frame frame_of(picture const& drawn, double box_width, double widest) {
  svg_frame f{.first = std::min<tick>(drawn.first, 0), .last = drawn.last};
  double const length = static_cast<double>(f.last - f.first);
  if (drawn.shortest > 0) f.pixels_a_tick = box_width / static_cast<double>(drawn.shortest);
  if (length * f.pixels_a_tick > widest) f.pixels_a_tick = widest / length;
  return f;
}

inline double text_width(std::string_view words) { return 6.2 * static_cast<double>(words.size()); }

// Ticks along the lower edge; returns where the axis ends.
inline double draw_axis(svg_canvas& canvas, svg_frame const& f, double y) {
  std::string const longest = std::to_string(f.last);
  tick const step = round_step(std::max(12.0, text_width(longest) + 8) / f.pixels_a_tick);
  for (tick t = 0; t <= f.last; t += step) {
    canvas.line(f.x(t), y, f.x(t), y + 4, "rule");
    canvas.text(f.x(t), y + 14, std::to_string(t), "m s");
  }
  canvas.text(f.left - 8, y + 14, "ticks", "e s");
  return y + 20;
}

// Kinds by colour, chunks by shade; returns where the legend ends. `width` grows to hold it.
inline double draw_legend(svg_canvas& canvas, picture const& drawn, double x, double y, double& width) {
  for (int k = 0; k < pass_kinds; ++k) {
    if (!drawn.shows[static_cast<std::size_t>(k)]) continue;
    auto const kind = static_cast<pass_kind>(k);
    int const shades = std::min(drawn.chunk_count, 6);
    for (int shade = 0; shade < shades; ++shade) {
      int const chunk = shades < 2 ? 0 : shade * (drawn.chunk_count - 1) / (shades - 1);
      canvas.box(x, y, 13, 13, colour_of_box(kind, chunk, drawn.chunk_count),
                 std::string(name_of(kind)) + ", chunk " + std::to_string(chunk));
      x += 13;
    }
    canvas.text(x + 5, y + 10.5, name_of(kind));
    x += 5 + text_width(name_of(kind)) + 14;
  }
  canvas.area(x, y, 13, 13, "idle");
  canvas.text(x + 18, y + 10.5, "idle");
  x += 18 + text_width("idle") + 14;
  if (drawn.chunk_count > 1) {
    std::string_view const shades = drawn.both_ways ? "dark: first route; light: second"
                                                    : "dark: first stage of a device; light: last";
    canvas.text(x, y + 10.5, shades);
    x += text_width(shades) * 0.9;
  }
  width = std::max(width, x);
  return y + 22;
}

inline std::string about(picture_box const& box, std::size_t device) {
  return to_string(box.what) + ": " + name_of(box.what.kind) + " of stage "
         + std::to_string(box.what.stage) + ", micro-batch " + std::to_string(box.what.micro_batch)
         + ", device " + std::to_string(device) + ", ticks " + std::to_string(box.start) + " to "
         + std::to_string(box.end);
}

inline void draw_box(svg_canvas& canvas, svg_frame const& f, picture const& drawn,
                     picture_box const& box, std::size_t device, std::string const& upper,
                     std::string const& lower) {
  rgb const colour = colour_of_box(box.what.kind, box.chunk, drawn.chunk_count);
  double const x = f.x(box.start), width = f.x(box.end) - x, y = f.y(device);
  double const hair = width > 4 ? 0.6 : 0;  // between neighbours
  canvas.box(x + hair, y, width - 2 * hair, f.row, colour, about(box, device));
  if (text_width(upper) + 2 > width) return;
  double const middle = x + width / 2;
  canvas.text(middle, y + f.row / 2 + (lower.empty() ? 4 : -0.5), upper, "m", ink_on(colour));
  if (!lower.empty()) canvas.text(middle, y + f.row - 3.5, lower, "m s", ink_on(colour));
}

}  // namespace render_detail

// A row a device, micro-batch numbers in the boxes, kinds by colour, chunks by shade, idle time in grey.
inline std::string svg(schedule const& s, svg_options const& options = {}) {
  using namespace render_detail;
  picture const drawn = picture_of(s);
  double const box_width = std::max(18.0, text_width(std::to_string(s.micro_batch_count() - 1)) + 6);
  svg_frame const f = frame_of(drawn, box_width, options.widest);
  svg_canvas canvas;
  for (std::size_t d = 0; d < drawn.rows.size(); ++d) {
    canvas.text(f.left - 8, f.y(d) + f.row / 2 + 4, "device " + std::to_string(d), "e");
    canvas.area(f.left, f.y(d), f.right() - f.left, f.row, "idle");
    for (picture_box const& box : drawn.rows[d])
      draw_box(canvas, f, drawn, box, d, std::to_string(box.what.micro_batch), "");
  }
  double width = f.right();
  double const axis = draw_axis(canvas, f, f.y(drawn.rows.size()));
  double const height = draw_legend(canvas, drawn, f.left, axis + 4, width);
  return canvas.finish(width + 12, height + 4, options.title);
}

// The cells at their offsets, each with its offset below its letter; under each device a bar a stage
// from the start of its forward to the end of the pass that frees its activations; the interval as
// brackets above.
inline std::string svg(block const& b, svg_options const& options = {}) {
  using namespace render_detail;
  picture const drawn = picture_of(b);
  double const bar = 6;
  std::string const longest = std::to_string(drawn.last);
  svg_frame f = frame_of(drawn, std::max(20.0, text_width(longest) + 6), options.widest);
  f.top = 34;
  f.gap = 8 + bar * drawn.chunk_count * b.micro_batch_count();
  svg_canvas canvas;
  double const bottom = f.y(drawn.rows.size());

  // How the block comes again.
  int number = 0;
  for (tick t = f.first; t < f.last; t += b.interval, ++number) {
    canvas.line(f.x(t), f.top - 8, f.x(t), bottom, "grid");
    tick const end = std::min(t + b.interval, f.last);
    if (static_cast<double>(b.interval) * f.pixels_a_tick < 3) break;
    canvas.line(f.x(t) + 2, f.top - 12, f.x(end) - 2, f.top - 12, "rule");
    if (number == 0) canvas.text(f.x(t) + 2, f.top - 18, "interval " + std::to_string(b.interval));
  }

  for (std::size_t d = 0; d < drawn.rows.size(); ++d) {
    canvas.text(f.left - 8, f.y(d) + f.row / 2 + 4, "device " + std::to_string(d), "e");
    canvas.area(f.left, f.y(d), f.right() - f.left, f.row, "idle");
    double y = f.y(d) + f.row + 3;
    for (picture_box const& box : drawn.rows[d]) {
      draw_box(canvas, f, drawn, box, d, std::string(1, letter_of(box.what.kind)),
               std::to_string(box.start));
      if (box.what.kind != pass_kind::forward) continue;
      tick const life = lifespan(b, stage_id{box.what.stage}, micro_batch_id{box.what.micro_batch});
      std::string const words = "stage " + std::to_string(box.what.stage) + " holds its activations for "
                                + std::to_string(life) + " ticks";
      canvas.box(f.x(box.start), y, static_cast<double>(life) * f.pixels_a_tick, bar - 2.5,
                 colour_of_box(pass_kind::forward, box.chunk, drawn.chunk_count), words);
      y += bar;
    }
  }
  double width = f.right();
  double const axis = draw_axis(canvas, f, bottom);
  double const height = draw_legend(canvas, drawn, f.left, axis + 4, width);
  return canvas.finish(width + 12, height + 4, options.title);
}

}  // namespace ashlar
