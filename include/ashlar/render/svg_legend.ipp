// Definitions of svg_legend.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/render/svg_cells.hpp>
#include <ashlar/render/svg_legend.hpp>
#include <ashlar/render/svg_transfers.hpp>

#include <algorithm>
#include <string>

namespace ashlar::render_detail {

ASHLAR_INLINE void svg_legend::item(double width, std::string_view words,
                                    function_ref<void(double, double)> draw) {
  double const all = width + 5 + text_width(words);
  if (x_ > left_ && x_ + all > right_) {
    x_ = left_;
    y_ += 19;
  }
  draw(x_, y_);
  canvas_.text(x_ + width + (width > 0 ? 5 : 0), y_ + 10.5, words);
  x_ += all + 12;
  reached_ = std::max(reached_, x_ - 12);
}

ASHLAR_INLINE double draw_legend(svg_canvas& canvas, picture const& drawn, svg_options const& options,
                                 svg_frame const& f, double y, double& right) {
  svg_legend legend(canvas, f.left, y, std::max(right, f.left + 560));
  pass_kind some_kind = pass_kind::forward;
  for (int k = pass_kinds; k-- > 0;)
    if (nth(drawn.shows, k)) some_kind = static_cast<pass_kind>(k);
  for (int k = 0; k < pass_kinds; ++k) {
    if (!nth(drawn.shows, k)) continue;
    auto const kind = static_cast<pass_kind>(k);
    int const shades = std::min(drawn.shade_count, 6);
    legend.item(13.0 * shades, name_of(kind), [&](double x, double top) {
      for (int i = 0; i < shades; ++i)
        canvas.box(x + 13 * i, top, 13, 13,
                   look_of(kind, shades < 2 ? 0 : i * (drawn.shade_count - 1) / (shades - 1)));
    });
  }
  legend.item(13, "idle", [&](double x, double top) { canvas.box(x, top, 13, 13, "idle"); });
  if (drawn.shade_count > 1)
    legend.item(0, "dark to light: first to last stage of a device", [](double, double) {});
  for (int route = 0; drawn.route_count > 1 && route < std::min(drawn.route_count, hatches + 1); ++route)
    legend.item(26, "route " + std::to_string(route), [&](double x, double top) {
      canvas.box(x, top, 26, 13, look_of(some_kind, 0));
      bool const white = wants_white_ink(colour_of_box(some_kind, 0, drawn.shade_count));
      if (route > 0) canvas.path(outline(x, top, 26, 13), look_of_hatch(route, white));
    });
  if (drawn.pairs)
    legend.item(20, "overlapped", [&](double x, double top) {
      canvas.box(x, top, 20, 6.5, look_of(pass_kind::forward, 0));
      bool const fused = nth(drawn.shows, pass_kind::backward);
      canvas.box(x, top + 6.5, 20, 6.5,
                 look_of(fused ? pass_kind::backward : pass_kind::backward_input, 0));
      canvas.path(outline(x + 0.5, top + 0.5, 19, 12), "pair");
    });
  if (options.transfers) {
    legend.item(20, "activations sent",
                [&](double x, double top) { canvas.path(arrow(x, top + 11, x + 19, top + 2), "go"); });
    legend.item(20, "gradients sent",
                [&](double x, double top) { canvas.path(arrow(x, top + 2, x + 19, top + 11), "back"); });
  }
  if (options.memory)
    legend.item(20, "chunk activations held",
                [&](double x, double top) { canvas.box(x, top + 3, 20, 10, "held"); });
  right = std::max(right, legend.reached());
  return legend.bottom();
}

}  // namespace ashlar::render_detail
