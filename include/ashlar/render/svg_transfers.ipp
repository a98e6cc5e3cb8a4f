// Definitions of svg_transfers.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/render/activations.hpp>
#include <ashlar/render/needs.hpp>
#include <ashlar/render/svg_transfers.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace ashlar::render_detail {

ASHLAR_INLINE std::string arrow(double x1, double y1, double x2, double y2) {
  double const dx = x2 - x1, dy = y2 - y1, length = std::sqrt(dx * dx + dy * dy);
  std::string data = "M" + px(x1) + " " + px(y1) + "L" + px(x2) + " " + px(y2);
  if (length < 1) return data;
  double const along = 4 / length, across = 2.2 / length;
  return data + "M" + px(x2 - along * dx - across * dy) + " " + px(y2 - along * dy + across * dx) + "L"
         + px(x2) + " " + px(y2) + "L" + px(x2 - along * dx + across * dy) + " "
         + px(y2 - along * dy - across * dx);
}

ASHLAR_INLINE void draw_transfers(svg_canvas& canvas, schedule const& s, svg_frame const& f) {
  std::vector<needing_pass> const passes = needs_of(s);
  std::string go, back;
  for (needing_pass const& to : passes)
    for (std::size_t const number : to.needs) {
      needing_pass const& from = passes[number];
      if (from.device == to.device) continue;
      bool const down = from.device < to.device;
      double const y1 = f.y(static_cast<std::size_t>(from.device)) + (down ? f.row : 0);
      double const y2 = f.y(static_cast<std::size_t>(to.device)) + (down ? 0 : f.row);
      (gives_input_gradient(from.what.kind) ? back : go) += arrow(f.x(from.end), y1, f.x(to.start), y2);
    }
  canvas.path(go, "go over");
  canvas.path(back, "back over");
}

ASHLAR_INLINE double draw_memory(svg_canvas& canvas, schedule const& s, svg_frame const& f,
                                 double height) {
  auto const all = held_activations(s);
  int most = 1;
  for (auto const& steps : all)
    for (held_step const& step : steps) most = std::max(most, step.held);
  double room = 0;
  for (std::size_t d = 0; d < all.size(); ++d) {
    double const bottom = f.y(d) + f.row + 2 + height;
    std::string data;
    int peak = 0;
    for (held_step const& step : all[d]) {
      std::string const level = px(bottom - height * step.held / most);
      data += data.empty() ? "M" + px(f.x(step.time)) + " " + px(bottom) : "H" + px(f.x(step.time));
      data += "V" + level;
      peak = std::max(peak, step.held);
    }
    if (!data.empty()) data += "H" + px(f.right()) + "V" + px(bottom);
    canvas.path(data, "held");
    std::string const words = "peak " + std::to_string(peak);
    canvas.text(f.right() + 6, bottom - height / 2 + 3, words, "s");
    room = std::max(room, 6 + text_width(words));
  }
  return room;
}

}  // namespace ashlar::render_detail
