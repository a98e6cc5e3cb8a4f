// Definitions of svg_cells.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/render/svg_cells.hpp>

#include <algorithm>
#include <array>

namespace ashlar::render_detail {

ASHLAR_INLINE int hatch_of(int route) { return route == 0 ? 0 : (route - 1) % hatches + 1; }

}  // namespace ashlar::render_detail

namespace ashlar::render_detail {

ASHLAR_INLINE std::string looks_of_cells(picture const& drawn) {
  std::string rules;
  if (drawn.route_count > 1) rules += ".m{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}";
  for (int k = 0; k < pass_kinds; ++k)
    for (int shade = 0; nth(drawn.shows, k) && shade < drawn.shade_count; ++shade) {
      auto const kind = static_cast<pass_kind>(k);
      rgb const colour = colour_of_box(kind, shade, drawn.shade_count);
      std::string const look = look_of(kind, shade), fill = hex(colour);
      rules += "rect." + look + "{fill:" + fill + "}text." + look + "{fill:";
      rules += wants_white_ink(colour) ? "#fff" : "#000";
      rules += drawn.route_count > 1 ? ";stroke:" + fill + "}" : "}";
    }
  return rules;
}

ASHLAR_INLINE std::string looks_of_hatches(picture const& drawn) {
  std::string rules;
  for (int h = 1; h < std::min(drawn.route_count, hatches + 1); ++h)
    for (char const ink : {'w', 'k'}) {
      std::string const name = "h" + std::to_string(h) + ink;
      rules += "." + name + "{fill:url(#" + name + ")}";
    }
  return rules;
}

ASHLAR_INLINE std::string hatch_patterns(picture const& drawn) {
  static constexpr std::array angle{"45", "-45", "0", "90"};
  std::string patterns;
  for (int h = 1; h < std::min(drawn.route_count, hatches + 1); ++h)
    for (bool const white : {true, false}) {
      std::string const step = h <= 4 ? "6" : "3.5";
      patterns += "<pattern id=\"h" + std::to_string(h) + (white ? "w" : "k") + "\" width=\"" + step
                  + "\" height=\"" + step
                  + "\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate("
                  + angle[static_cast<std::size_t>(h - 1) % angle.size()] + ")\"><path d=\"M0 1h" + step
                  + "\" stroke=\"" + (white ? "#fff" : "#000") + "\" stroke-opacity=\""
                  + (white ? ".5" : ".35") + "\" stroke-width=\"1.2\"/></pattern>";
    }
  return patterns;
}

ASHLAR_INLINE letter_size size_for(std::size_t letters, double narrowest) {
  for (letter_size const size : {letter_size{"", 11}, letter_size{" s", 8.5}})
    if (size.fits(letters, narrowest)) return size;
  return {" t", 7.5};
}

ASHLAR_INLINE void svg_cells::add(picture_box const& box, std::size_t device, std::string const& upper,
                                  std::string const& lower) {
  rgb const colour = colour_of_box(box.what.kind, box.shade, drawn_.shade_count);
  bool const white = wants_white_ink(colour);
  bool const is_instant = box.end == box.start;  // a line between its neighbours
  double const x = f_.x(box.start) - (is_instant ? 0.5 : 0), width = is_instant ? 1 : f_.x(box.end) - x;
  double const hair = width > 4 ? 0.5 : 0;  // between neighbours
  double const height = box.part == cell_part::whole ? f_.row : f_.row / 2;
  double const y = f_.y(device) + (box.part == cell_part::lower ? height : 0);
  std::string const look = look_of(box.what.kind, box.shade);
  canvas_.box(x + hair, y, width - 2 * hair, height, look, width < 1.5 ? "" : tip(box, device));
  if (int const hatch = hatch_of(box.route); hatch > 0 && width > 3)
    nth(hatched_, 2 * hatch + (white ? 1 : 0)) += outline(x + hair, y, width - 2 * hair, height);
  if (box.part == cell_part::upper) pairs_ += outline(x + 0.5, y + 0.5, width - 1, f_.row - 1);

  bool const half = box.part != cell_part::whole;
  letter_size const size = half && size_.height > 8.5 ? letter_size{" s", 8.5} : size_;
  if (!size.fits(letters_, width)) return;
  std::string const ink = "m " + look;
  double const middle = x + width / 2;
  double const below = lower.empty() ? 0.36 * size.height : -0.5;  // offset from the middle line
  labels_.text(middle, y + height / 2 + below, upper, ink + std::string(size.look));
  if (!lower.empty()) labels_.text(middle, y + height - 3.5, lower, ink + " s");
}

ASHLAR_INLINE void svg_cells::finish() {
  for (int h = 1; h <= hatches; ++h)
    for (bool const white : {true, false})
      canvas_.path(nth(hatched_, 2 * h + (white ? 1 : 0)), look_of_hatch(h, white));
  canvas_.path(pairs_, "pair over");
  canvas_.add(labels_);
}

ASHLAR_INLINE std::string svg_cells::tip(picture_box const& box, std::size_t device) const {
  std::string words = to_string(box.what) + ": device " + std::to_string(device) + ", "
                      + std::string(f_.unit.name) + " " + f_.number(box.start) + " to "
                      + f_.number(box.end);
  if (drawn_.route_count > 1) words += ", route " + std::to_string(box.route);
  return words;
}

}  // namespace ashlar::render_detail
