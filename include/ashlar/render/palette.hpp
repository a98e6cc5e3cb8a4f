// The colours of pictures: kinds by hue, chunks by shade.
//
// Chosen by search so that any two kinds, in whatever shades, stay apart in CIE Lab, with normal vision
// as with red, green or blue cones missing (after Machado, Oliveira and Fernandes, 2009), and so that
// black or white numbers on them have a contrast of at least 4.5 to 1. test/render/palette.cpp holds
// both.
#pragma once

#include <ashlar/core/pass.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <string>

namespace ashlar {

// Where a picture takes its light and dark from.
enum class picture_theme { follow_reader, light, dark };

using rgb = std::array<int, 3>;  // 0 .. 255 each

// The first of a device's chunks is dark, later ones are ever lighter; an only one is rather dark.
constexpr rgb colour_of_box(pass_kind kind, int shade, int shade_count) {
  constexpr rgb dark[pass_kinds] = {{24, 88, 178}, {114, 83, 114}, {122, 32, 2},
                                    {222, 145, 5}, {116, 150, 96}, {63, 63, 63}};
  constexpr rgb light[pass_kinds] = {{128, 176, 255}, {235, 212, 248}, {200, 98, 40},
                                     {250, 230, 125}, {181, 240, 195}, {192, 192, 192}};
  auto const k = static_cast<std::size_t>(kind);
  rgb mixed{};
  for (std::size_t i = 0; i < 3; ++i)
    mixed[i] = dark[k][i]
               + (shade_count < 2 ? (light[k][i] - dark[k][i]) / 4
                                  : (light[k][i] - dark[k][i]) * shade / (shade_count - 1));
  return mixed;
}

// Relative luminance of a colour, 0 to 1 (Web Content Accessibility Guidelines 2).
inline double luminance(rgb colour) {
  constexpr double weight[3] = {0.2126, 0.7152, 0.0722};
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    double const part = colour[i] / 255.0;
    sum += weight[i] * (part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4));
  }
  return sum;
}

// Whether white numbers are easier to read on the colour than black ones: 1.05 / (y + 0.05) against
// (y + 0.05) / 0.05.
inline bool wants_white_ink(rgb colour) {
  double const y = luminance(colour) + 0.05;
  return y * y < 1.05 * 0.05;
}

inline std::string hex(rgb colour) {
  std::string text = "#";
  for (int part : colour) {
    text += "0123456789abcdef"[part / 16];
    text += "0123456789abcdef"[part % 16];
  }
  return text;
}

}  // namespace ashlar
