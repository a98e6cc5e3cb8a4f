// Definitions of svg_dense.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/render/svg_cells.hpp>
#include <ashlar/render/svg_dense.hpp>

#include <cstdint>

namespace ashlar::render_detail {

// The cells of one look, in tenths of a pixel.
class svg_lines {
 public:
  explicit svg_lines(svg_frame const& f) : f_(f) {}

  void add(std::size_t device, tick start, tick end, cell_part part);
  std::string const& data() const { return data_; }

 private:
  static std::int64_t tenths(double x) { return static_cast<std::int64_t>(10 * x + 0.5); }
  static std::string text(std::int64_t t) { return px(static_cast<double>(t) / 10); }

  svg_frame const& f_;
  std::string data_;
  std::int64_t at_ = 0;
  double y_ = -1;
};

}  // namespace ashlar::render_detail

namespace ashlar::render_detail {

ASHLAR_INLINE std::size_t count_boxes(picture const& drawn) {
  std::size_t count = 0;
  for (auto const& row : drawn.rows) count += row.size();
  return count;
}

ASHLAR_INLINE std::string looks_of_lines(picture const& drawn, svg_frame const& f) {
  std::string rules = ".whole{stroke-width:" + px(f.row) + "}.half{stroke-width:" + px(f.row / 2) + "}";
  for (int k = 0; k < pass_kinds; ++k)
    for (int shade = 0; nth(drawn.shows, k) && shade < drawn.shade_count; ++shade) {
      auto const kind = static_cast<pass_kind>(k);
      rules += "path." + look_of(kind, shade)
               + "{fill:none;stroke:" + hex(colour_of_box(kind, shade, drawn.shade_count)) + "}";
    }
  return rules;
}

ASHLAR_INLINE void svg_lines::add(std::size_t device, tick start, tick end, cell_part part) {
  std::int64_t const from = tenths(f_.x(start)), to = tenths(f_.x(end));
  if (from == to) return;
  double const y = f_.y(device)
                   + f_.row
                         * (part == cell_part::whole   ? 0.5
                            : part == cell_part::upper ? 0.25
                                                       : 0.75);
  data_ += y == y_ ? "m" + text(from - at_) + " 0h" : "M" + text(from) + " " + px(y) + "h";
  data_ += text(to - from);
  at_ = to;
  y_ = y;
}

ASHLAR_INLINE void draw_lines(svg_canvas& canvas, picture const& drawn, svg_frame const& f) {
  for (int k = 0; k < pass_kinds; ++k)
    for (int shade = 0; nth(drawn.shows, k) && shade < drawn.shade_count; ++shade)
      for (bool const half : {false, true}) {
        svg_lines lines(f);
        for (std::size_t d = 0; d < drawn.rows.size(); ++d) {
          auto const& row = drawn.rows[d];
          auto const belongs = [&](picture_box const& b) {
            return static_cast<int>(b.what.kind) == k && b.shade == shade
                   && (b.part != cell_part::whole) == half;
          };
          for (std::size_t i = 0; i < row.size();) {
            picture_box const& first = row[i++];
            if (!belongs(first)) continue;
            tick end = first.end;
            while (i < row.size() && belongs(row[i]) && row[i].start == end && row[i].part == first.part)
              end = row[i++].end;
            lines.add(d, first.start, end, first.part);
          }
        }
        canvas.path(lines.data(),
                    look_of(static_cast<pass_kind>(k), shade) + (half ? " half" : " whole"));
      }
}

}  // namespace ashlar::render_detail
