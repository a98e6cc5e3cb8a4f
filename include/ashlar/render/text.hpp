// Pictures for a terminal: one row per device, one box per pass.
#pragma once

#include <ashlar/render/picture.hpp>

#include <cstddef>
#include <string>

namespace ashlar {

// Options of a picture for a terminal.
struct text_options {
  bool colour = false;
  int width = 100;  // columns of the terminal, at most 65536; 0: unlimited
  tick unit = 1;    // ticks per 1 on the ruler
};

namespace render_detail {

// The mapping of time to columns.
struct text_scale {
  double columns_a_tick = 1;
  bool numbers = true;    // whether boxes are wide enough for their micro-batch
  std::size_t whole = 0;  // columns of boxes with numbers, where passes share a column; else 0

  std::size_t column(tick t, tick first) const {
    return static_cast<std::size_t>(static_cast<double>(t - first) * columns_a_tick + 1e-6);
  }
};

// The largest scale that fits: boxes with numbers, apart or touching, then boxes with letters alone,
// then one at which passes share columns. If some pass is very short relative to the others, the last.
text_scale scale_of(picture const& drawn, std::size_t label, std::size_t room);

struct text_picture {
  std::string rows;
  std::size_t hidden = 0;  // passes without a column of their own
};

text_picture draw_rows(picture const& drawn, text_scale const& scale, bool colour);

// Writes numbers of units above the columns, as close as they can be read.
std::string ruler(picture const& drawn, text_scale const& scale, std::size_t margin, std::size_t room,
                  tick unit);

// On lines of up to `width` columns; 0: on one.
std::string legend(picture const& drawn, bool colour, std::size_t width);

std::string text_of(picture const& drawn, text_options options);

}  // namespace render_detail

// Draws a row per device, time to the right, a letter and the micro-batch in each box. A picture that
// does not fit is scaled, and the last line says so. Throws violation{check_form(s)}.
inline std::string text(schedule const& s, text_options options = {}) {
  return render_detail::text_of(picture_of(s), options);
}

// Draws the block's cells at their offsets, its interval, and each stage's lifespan. Throws violation:
// check_form(b), and as lifespan() does.
std::string text(block const& b, text_options options = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/text.ipp>
#endif
