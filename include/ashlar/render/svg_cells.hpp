// The cells of an SVG picture: kinds by colour, chunks by shade, routes by hatch, pairs as one split
// cell.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/render/svg_frame.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar::render_detail {

inline std::string look_of(pass_kind kind, int shade) { return letter_of(kind) + std::to_string(shade); }

// The style rules of all kinds of cells in the picture and of the numbers on them; where there are
// hatches, numbers have an outline of the cell's colour.
inline std::string looks_of_cells(picture const& drawn) {
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

// Lines in another direction for each route but the first; from the fifth on closer ones.
inline constexpr int hatches = 8;
inline int hatch_of(int route) { return route == 0 ? 0 : (route - 1) % hatches + 1; }

inline std::string look_of_hatch(int hatch, bool white) {
  return "over h" + std::to_string(hatch) + (white ? "w" : "k");
}
inline std::string looks_of_hatches(picture const& drawn) {
  std::string rules;
  for (int h = 1; h < std::min(drawn.route_count, hatches + 1); ++h)
    for (char const ink : {'w', 'k'}) {
      std::string const name = "h" + std::to_string(h) + ink;
      rules += "." + name + "{fill:url(#" + name + ")}";
    }
  return rules;
}
inline std::string hatch_patterns(picture const& drawn) {
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

// The largest letters in which the longest of a picture's labels fits its narrowest cell, else the
// smallest.
struct letter_size {
  std::string_view look;
  double height;

  bool fits(std::size_t letters, double width) const {
    return 0.57 * height * static_cast<double>(letters) + 2 <= width;
  }
};
inline letter_size size_for(std::size_t letters, double narrowest) {
  for (letter_size const size : {letter_size{"", 11}, letter_size{" s", 8.5}})
    if (size.fits(letters, narrowest)) return size;
  return {" t", 7.5};
}

// Draws in layers: boxes at once; hatches, outlines of pairs and labels at the end. Cells too narrow for
// the picture's longest label have none, so that labels do not come and go with their length.
class svg_cells {
 public:
  svg_cells(svg_canvas& canvas, picture const& drawn, svg_frame const& f, std::size_t letters)
      : canvas_(canvas),
        drawn_(drawn),
        f_(f),
        letters_(letters),
        size_(size_for(letters, static_cast<double>(drawn.shortest) * f.pixels_a_tick)),
        hatched_(2 * (hatches + 1)) {}

  // `upper` in the middle, or above `lower`.
  void add(picture_box const& box, std::size_t device, std::string const& upper,
           std::string const& lower) {
    rgb const colour = colour_of_box(box.what.kind, box.shade, drawn_.shade_count);
    bool const white = wants_white_ink(colour);
    double const x = f_.x(box.start), width = f_.x(box.end) - x;
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
    double const below = lower.empty() ? 0.36 * size.height : -0.5;  // of the line through the middle
    labels_.text(middle, y + height / 2 + below, upper, ink + std::string(size.look));
    if (!lower.empty()) labels_.text(middle, y + height - 3.5, lower, ink + " s");
  }

  void finish() {
    for (int h = 1; h <= hatches; ++h)
      for (bool const white : {true, false})
        canvas_.path(nth(hatched_, 2 * h + (white ? 1 : 0)), look_of_hatch(h, white));
    canvas_.path(pairs_, "pair over");
    canvas_.add(labels_);
  }

 private:
  std::string tip(picture_box const& box, std::size_t device) const {
    std::string words = to_string(box.what) + ": device " + std::to_string(device) + ", "
                        + std::string(f_.unit.name) + " " + f_.number(box.start) + " to "
                        + f_.number(box.end);
    if (drawn_.route_count > 1) words += ", route " + std::to_string(box.route);
    return words;
  }

  svg_canvas& canvas_;
  picture const& drawn_;
  svg_frame const& f_;
  std::size_t letters_;  // of the longest label
  letter_size size_;
  std::vector<std::string> hatched_;  // by hatch and ink
  std::string pairs_;
  svg_canvas labels_;
};

}  // namespace ashlar::render_detail
