// Pictures for a terminal: one row per device, one box per pass.
#pragma once

#include <ashlar/render/picture.hpp>

#include <cstddef>
#include <string>

namespace ashlar {

// How a picture for a terminal is drawn.
struct text_options {
  bool colour = false;
  int width = 100;  // columns of the terminal, at most 65536; 0: as wide as it takes
  tick unit = 1;    // so many ticks are 1 on the ruler
};

namespace render_detail {

// How time becomes columns.
struct text_scale {
  double columns_a_tick = 1;
  bool numbers = true;  // whether boxes are wide enough for their micro-batch
  bool cut = false;     // whether the end is left out

  std::size_t column(tick t, tick first) const {
    return static_cast<std::size_t>(static_cast<double>(t - first) * columns_a_tick + 1e-6);
  }
};

// The largest that fits: boxes with numbers, apart or touching, boxes with letters alone; else the
// beginning of the former, or, where some pass is very much shorter than the others, the whole at any
// scale.
text_scale scale_of(picture const& drawn, std::size_t label, std::size_t room);

struct text_picture {
  std::string rows;
  std::size_t hidden = 0;  // passes narrower than a column
};

text_picture draw_rows(picture const& drawn, text_scale const& scale, std::size_t room, bool colour);

// Numbers of units above the columns, as close as they can be read.
std::string ruler(picture const& drawn, text_scale const& scale, std::size_t margin, std::size_t room,
                  tick unit);

std::string legend(picture const& drawn, bool colour);

std::string text_of(picture const& drawn, text_options options);

}  // namespace render_detail

// A row a device, time to the right, a letter and the micro-batch in each box. What does not fit is cut
// or scaled, and the last line says so. Throws violation{check_form(s)}.
inline std::string text(schedule const& s, text_options options = {}) {
  return render_detail::text_of(picture_of(s), options);
}

// The block's cells at their offsets, its interval, and each stage's lifespan. Throws violation:
// check_form(b), and as lifespan() does.
std::string text(block const& b, text_options options = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/text.ipp>
#endif
