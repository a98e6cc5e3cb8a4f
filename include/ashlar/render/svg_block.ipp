// Definitions of svg_block.hpp.
#pragma once

#include <ashlar/block/measures.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/render/picture.hpp>
#include <ashlar/render/svg_block.hpp>
#include <ashlar/render/svg_cells.hpp>
#include <ashlar/render/svg_legend.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ashlar::render_detail {

// The lifespan of a stage's activations: from the start of its forward to the end of the pass that frees
// them.
struct held_bar {
  picture_box forward;
  tick end = 0;
};

}  // namespace ashlar::render_detail

namespace ashlar::render_detail {

// Draws the repetition of the block: brackets above the rows, and a dotted line through them at each
// return.
ASHLAR_INLINE void draw_interval(svg_canvas& canvas, svg_frame const& f, tick interval, double bottom) {
  double const width = static_cast<double>(interval) * f.pixels_a_tick;
  canvas.text(f.x(f.first), f.top - 17, "interval " + std::to_string(interval));
  for (tick t = f.first; t < f.last; t += interval) {
    double const end = std::min(f.x(t) + width, f.right());
    canvas.path("M" + px(f.x(t) + 1) + " " + px(f.top - 5) + "v-6H" + px(end - 1)
                    + (end < f.right() || f.x(t) + width == end ? "v6" : ""),
                "rule");
    canvas.line(f.x(t), f.top - 3, f.x(t), bottom, "grid");
    if (width < 6) break;  // no room to tell them apart
  }
}

// By device, in order of their starts. Activations that nothing frees have no bar. O(n log n) in the
// cells.
ASHLAR_INLINE std::vector<std::vector<held_bar>> held_bars(block const& b, picture const& drawn) {
  result_table<tick> freed(b.where.stage_count(), b.micro_batch_count(), -1);
  for (cell const& c : b.cells)
    if (gives_weight_gradient(c.what.kind))
      freed.at(c.what.micro_batch, c.what.stage, result::weight_gradient) =
          c.offset + b.length_of(c.what);
  std::vector<std::vector<held_bar>> all;
  for (auto const& row : drawn.rows) {
    auto& bars = all.emplace_back();
    for (picture_box const& box : row) {
      if (box.what.kind != pass_kind::forward) continue;
      tick const end = freed.at(box.what.micro_batch, box.what.stage, result::weight_gradient);
      if (end > box.start) bars.push_back({box, end});
    }
  }
  return all;
}

}  // namespace ashlar::render_detail

namespace ashlar {

ASHLAR_INLINE std::string svg(block const& b, svg_options const& options) {
  using namespace render_detail;
  must_be_drawable(options);
  picture const drawn = picture_of(b);
  auto const bars = held_bars(b, drawn);
  std::size_t most_bars = 0;
  for (auto const& row : bars) most_bars = std::max(most_bars, row.size());
  tick const interval = b.interval;
  bool const group = b.micro_batch_count() > 1;
  std::string const longest =
      std::max(std::to_string(drawn.last), "F" + std::to_string(b.micro_batch_count() - 1),
               [](std::string const& x, std::string const& y) { return x.size() < y.size(); });
  svg_frame f = frame_of(drawn, std::max(20.0, text_width(longest) + 6), options.widest);
  double const bar = 6;
  f.top = 34;
  f.gap = 10 + bar * static_cast<double>(most_bars);
  svg_canvas canvas;
  draw_rows(canvas, drawn, f);
  double const bottom = f.y(drawn.rows.size()) - 4;
  draw_interval(canvas, f, interval, bottom);
  svg_cells cells(canvas, drawn, f, longest.size());
  double right = f.right();
  for (std::size_t d = 0; d < drawn.rows.size(); ++d) {
    for (picture_box const& box : drawn.rows[d])
      cells.add(box, d, letter_of(box.what.kind) + (group ? std::to_string(box.what.micro_batch) : ""),
                std::to_string(box.start));
    double y = f.y(d) + f.row + 3;
    tick bound = 0;
    for (held_bar const& held : bars[d]) {
      tick const life = held.end - held.forward.start;
      canvas.box(f.x(held.forward.start), y, f.x(held.end) - f.x(held.forward.start), bar - 2.5,
                 look_of(pass_kind::forward, held.forward.shade),
                 to_string(held.forward.what) + ": lifespan " + std::to_string(life));
      bound = saturating_sum(bound, most_held(life, interval));
      y += bar;
    }
    if (bars[d].empty()) continue;
    std::string const words = "holds \xe2\x89\xa4 " + std::to_string(bound);
    canvas.text(f.right() + 8, f.y(d) + f.row / 2 + 4, words);
    right = std::max(right, f.right() + 8 + text_width(words));
  }
  cells.finish();
  double height = draw_axis(canvas, f, bottom);
  if (options.legend) {
    svg_options const shown{.title = {}, .transfers = false, .memory = false};
    height = draw_legend(canvas, drawn, shown, f, height + 4, right);
  }
  return canvas.finish(right + 12, height + 4, options.title, options.theme,
                       looks_of_cells(drawn) + looks_of_hatches(drawn), hatch_patterns(drawn));
}

}  // namespace ashlar
