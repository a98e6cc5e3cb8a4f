// Definitions of svg_schedule.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/render/picture.hpp>
#include <ashlar/render/svg_cells.hpp>
#include <ashlar/render/svg_dense.hpp>
#include <ashlar/render/svg_legend.hpp>
#include <ashlar/render/svg_schedule.hpp>
#include <ashlar/render/svg_transfers.hpp>

#include <algorithm>

namespace ashlar {

ASHLAR_INLINE std::string svg(schedule const& s, svg_options const& options) {
  using namespace render_detail;
  must_be_drawable(options);
  picture drawn = picture_of(s);
  bool const dense = count_boxes(drawn) > crowded;
  if (dense) drawn.route_count = 1;
  std::string longest = std::to_string(std::max(s.micro_batch_count() - 1, 0));
  for (auto const& row : drawn.rows)
    for (picture_box const& box : row)
      if (std::string const number = number_of(box.what); number.size() > longest.size())
        longest = number;
  svg_frame f = frame_of(drawn, dense ? 3 : std::max(18.0, text_width(longest) + 6),
                         dense ? std::min(options.widest, 2000.0) : options.widest);
  f.unit = options.unit;
  if (dense) f.row = drawn.rows.size() > 16 ? 14 : 20, f.gap = 2;
  double const curve = 22;
  if (drawn.pairs && !dense) f.row = 30;
  if (options.transfers) f.gap = 14;
  if (options.memory) f.gap = curve + 10;
  svg_canvas canvas;
  draw_rows(canvas, drawn, f);
  double right = f.right();
  if (options.memory) right += draw_memory(canvas, s, f, curve);
  svg_cells cells(canvas, drawn, f, longest.size());
  if (dense) draw_lines(canvas, drawn, f);
  for (std::size_t d = 0; !dense && d < drawn.rows.size(); ++d)
    for (picture_box const& box : drawn.rows[d]) cells.add(box, d, number_of(box.what), "");
  cells.finish();
  if (options.transfers) draw_transfers(canvas, s, f);
  double const last_row = f.y(drawn.rows.size()) - (options.memory ? 4 : f.gap - 4);
  double height = draw_axis(canvas, f, last_row);
  if (options.legend) height = draw_legend(canvas, drawn, options, f, height + 4, right);
  return canvas.finish(
      right + 12, height + 4, options.title, options.theme,
      looks_of_cells(drawn) + (dense ? looks_of_lines(drawn, f) : "") + looks_of_hatches(drawn),
      hatch_patterns(drawn));
}

}  // namespace ashlar
