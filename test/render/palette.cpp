// The colours of pictures can be told apart with any colour vision, and read.
#include <ashlar/render/palette.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace {

using namespace ashlar;
using triple = std::array<double, 3>;
using matrix = std::array<triple, 3>;

triple operator*(matrix const& m, triple const& v) {
  triple out{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) out[i] += m[i][j] * v[j];
  return out;
}

// Matrices of linear RGB as seen with all cones, or without those for long, medium or short waves:
// Machado, Oliveira, Fernandes: A Physiologically-based Model for Simulation of Color Vision Deficiency,
// 2009.
std::vector<matrix> const visions{
    {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    {{{0.152286, 1.052583, -0.204868},
      {0.114503, 0.786281, 0.099216},
      {-0.003882, -0.048116, 1.051998}}},
    {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}},
    {{{1.255528, -0.076749, -0.178779},
      {-0.078411, 0.930809, 0.147602},
      {0.004733, 0.691367, 0.303900}}}};

triple lab(rgb colour, matrix const& vision) {
  triple linear{};
  for (std::size_t i = 0; i < 3; ++i) {
    double const c = colour[i] / 255.0;
    linear[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  triple seen = vision * linear;
  for (double& c : seen) c = std::clamp(c, 0.0, 1.0);
  matrix const to_xyz{{{0.4124, 0.3576, 0.1805}, {0.2126, 0.7152, 0.0722}, {0.0193, 0.1192, 0.9505}}};
  triple xyz = to_xyz * seen;
  triple const white{0.95047, 1, 1.08883};
  for (std::size_t i = 0; i < 3; ++i) {
    double const t = xyz[i] / white[i];
    xyz[i] = t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116;
  }
  return {116 * xyz[1] - 16, 500 * (xyz[0] - xyz[1]), 200 * (xyz[1] - xyz[2])};
}

double distance(triple const& a, triple const& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

// The least distance between cells of different kinds, in any shades and with any vision.
double least_distance(std::vector<pass_kind> const& kinds, int shades) {
  double least = 1000;
  for (matrix const& vision : visions)
    for (pass_kind a : kinds)
      for (pass_kind b : kinds)
        for (int i = 0; a < b && i < shades; ++i)
          for (int j = 0; j < shades; ++j)
            least = std::min(least, distance(lab(colour_of_box(a, i, shades), vision),
                                             lab(colour_of_box(b, j, shades), vision)));
  return least;
}

}  // namespace

// A distance of 2.3 is just noticeable; 10 and more are plain at a glance.
TEST_CASE("kinds stay apart for every colour vision, in all shades") {
  using enum pass_kind;
  for (int shades : {1, 2, 3, 4, 8}) {
    CAPTURE(shades);
    CHECK(least_distance({forward, backward}, shades) > 60);
    CHECK(least_distance({forward, recompute, backward}, shades) > 24);
    CHECK(least_distance({forward, backward_input, backward_weight}, shades) > 19);
    CHECK(least_distance({forward, backward, backward_input, backward_weight}, shades) > 17);
    CHECK(least_distance({forward, recompute, backward, backward_input, backward_weight, work}, shades)
          > 9);
  }
}

TEST_CASE("two shades of a kind stay apart, too") {
  for (matrix const& vision : visions)
    for (int k = 0; k < pass_kinds; ++k)
      for (int shades : {2, 3, 4})
        for (int i = 1; i < shades; ++i)
          CHECK(distance(lab(colour_of_box(static_cast<pass_kind>(k), i - 1, shades), vision),
                         lab(colour_of_box(static_cast<pass_kind>(k), i, shades), vision))
                > 22.0 / (shades - 1));
}

TEST_CASE("numbers have a contrast of 4.5 to 1 on every cell") {
  CHECK(luminance({255, 255, 255}) == doctest::Approx(1));
  CHECK(luminance({0, 0, 0}) == doctest::Approx(0));
  for (int k = 0; k < pass_kinds; ++k)
    for (int shades = 1; shades <= 16; ++shades)
      for (int i = 0; i < shades; ++i) {
        rgb const colour = colour_of_box(static_cast<pass_kind>(k), i, shades);
        double const y = luminance(colour) + 0.05;
        CHECK((wants_white_ink(colour) ? 1.05 / y : y / 0.05) >= 4.5);
      }
}

TEST_CASE("colours are written in hexadecimal") {
  CHECK(hex({0, 15, 255}) == "#000fff");
  CHECK(hex({171, 205, 1}) == "#abcd01");
}
