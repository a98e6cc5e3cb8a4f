// The colours of pictures: kinds by hue, chunks by shade.
//
// They were chosen by search so that any two kinds, in any shades, stay apart in CIE Lab, with normal
// vision as with red, green or blue cones missing (after Machado, Oliveira and Fernandes, 2009), and so
// that black or white numbers on them have a contrast of at least 4.5 to 1. test/render/palette.cpp
// checks both.
#pragma once

#include <ashlar/core/pass.hpp>

#include <array>
#include <string>

namespace ashlar {

// The source of a picture's light or dark theme.
enum class picture_theme { follow_reader, light, dark };

using rgb = std::array<int, 3>;  // 0 .. 255 each

// The colour of a box. The first of a device's chunks is dark, later ones are lighter; a single one is
// rather dark.
rgb colour_of_box(pass_kind kind, int shade, int shade_count);

// Relative luminance of a colour, 0 to 1 (Web Content Accessibility Guidelines 2).
double luminance(rgb colour);

// Whether white numbers are easier to read on the colour than black ones: 1.05 / (y + 0.05) against
// (y + 0.05) / 0.05.
inline bool wants_white_ink(rgb colour) {
  double const y = luminance(colour) + 0.05;
  return y * y < 1.05 * 0.05;
}

// The colour as in SVG and CSS: `#1f77b4`.
std::string hex(rgb colour);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/palette.ipp>
#endif
