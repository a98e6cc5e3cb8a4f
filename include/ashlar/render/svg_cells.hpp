// The cells of an SVG picture: kinds by colour, chunks by shade, routes by hatch, pairs as one split
// cell.
#pragma once

#include <ashlar/program/names.hpp>
#include <ashlar/render/svg_frame.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar::render_detail {

inline std::string look_of(pass_kind kind, int shade) { return letter_of(kind) + std::to_string(shade); }

// The style rules of all kinds of cells in the picture and of their numbers. With hatches, numbers have
// an outline of the cell's colour.
std::string looks_of_cells(picture const& drawn);

// The number of hatches: lines in another direction for each route but the first; from the fifth on
// closer ones.
inline constexpr int hatches = 8;

inline std::string look_of_hatch(int hatch, bool white) {
  return "over h" + std::to_string(hatch) + (white ? "w" : "k");
}
std::string looks_of_hatches(picture const& drawn);
std::string hatch_patterns(picture const& drawn);

// The largest letters in which the picture's longest label fits its narrowest cell, else the smallest.
struct letter_size {
  std::string_view look;
  double height;

  bool fits(std::size_t letters, double width) const {
    return 0.57 * height * static_cast<double>(letters) + 2 <= width;
  }
};
letter_size size_for(std::size_t letters, double narrowest);

// Draws in layers: boxes at once; hatches, outlines of pairs and labels at the end. If cells are too
// narrow for the picture's longest label, they have none, so labels do not come and go with their
// length.
class svg_cells {
 public:
  // Draws on the canvas. Refers to its arguments. `letters` is the length of the longest text in a box.
  svg_cells(svg_canvas& canvas, picture const& drawn, svg_frame const& f, std::size_t letters)
      : canvas_(canvas),
        drawn_(drawn),
        f_(f),
        letters_(letters),
        size_(size_for(letters, static_cast<double>(drawn.shortest) * f.pixels_a_tick)),
        hatched_(2 * (hatches + 1)) {}

  // Draws `upper` in the middle, or above `lower`.
  void add(picture_box const& box, std::size_t device, std::string const& upper,
           std::string const& lower);

  void finish();

 private:
  std::string tip(picture_box const& box, std::size_t device) const;

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

#ifndef ASHLAR_COMPILED
#include <ashlar/render/svg_cells.ipp>
#endif
