#include <ashlar/render/curves.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

int count_of_text(std::string const& all, std::string const& part) {
  int count = 0;
  for (auto at = all.find(part); at != std::string::npos; at = all.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("curves: a panel each, on the same axes, every curve in the frame") {
  std::vector<ashlar::curve_panel> panels;
  for (int i = 0; i < 5; ++i)
    panels.push_back({"panel " + std::to_string(i), {{{0, 1}, {10, 2.0 + i}}, {{0, 0}, {5, 1}}}});
  std::string const picture = svg(panels, {"a < b", "steps", "load"});
  CHECK(count_of_text(picture, ">steps<") == 5);
  CHECK(count_of_text(picture, "class=\"line0\"") == 5);
  CHECK(count_of_text(picture, "class=\"line1\"") == 5);
  CHECK(count_of_text(picture, "a &lt; b") == 2);
  // Four in a row; the highest curve ends in the upper right corner of the last frame, 4 % below it.
  CHECK(count_of_text(picture, "d=\"M50 373.17L250 269\"") == 1);
  CHECK(count_of_text(picture, ">panel 4<") == 1);
}

TEST_CASE("curves: nothing to draw is a picture, too") {
  std::vector<ashlar::curve_panel> const none{{"none", {}}};
  CHECK(count_of_text(svg(none, {"", "x", "y"}), "</svg>") == 1);
}
