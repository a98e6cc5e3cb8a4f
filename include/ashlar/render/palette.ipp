// Definitions of palette.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/render/palette.hpp>

#include <cmath>
#include <cstddef>

namespace ashlar {

ASHLAR_INLINE rgb colour_of_box(pass_kind kind, int shade, int shade_count) {
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

ASHLAR_INLINE double luminance(rgb colour) {
  constexpr double weight[3] = {0.2126, 0.7152, 0.0722};
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    double const part = colour[i] / 255.0;
    sum += weight[i] * (part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4));
  }
  return sum;
}

ASHLAR_INLINE std::string hex(rgb colour) {
  std::string text = "#";
  for (int part : colour) {
    text += "0123456789abcdef"[part / 16];
    text += "0123456789abcdef"[part % 16];
  }
  return text;
}

}  // namespace ashlar
