// Frontiers and the labels of dots.
#include <ashlar/render/frontier.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace {

using namespace ashlar;

std::size_t occurrences(std::string const& text, std::string const& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

std::vector<frontier_curve> two_curves() {
  return {{.name = "here",
           .reached = {{0.5, 0.3}, {1.0, 0.1}},
           .least = {{0.5, 0.2}, {1.0, 0.1}},
           .published = {{"near", 0.75, 0.25}, {"holds too much", 4.0, 0.01}, {"idles", 0.75, 0.9}}},
          {.name = "there", .reached = {}, .least = {}, .published = {{"other", 0.75, 0.25}}}};
}

TEST_CASE("frontier: points, bounds and published schedules within the picture") {
  std::string const picture = svg(two_curves(), "what memory buys");
  CHECK(picture.starts_with("<svg"));
  CHECK(occurrences(picture, "<title>what memory buys</title>") == 1);
  CHECK(occurrences(picture, "<title>here, 50 %: bubble 30 %</title>") == 1);
  CHECK(occurrences(picture, "<title>here, 100 %: bubble 10 %</title>") == 1);
  CHECK(occurrences(picture, "<title>near (here), 75 %: bubble 25 %</title>") == 1);
  CHECK(occurrences(picture, "holds too much") == 0);
  CHECK(occurrences(picture, "idles") == 0);
  CHECK(occurrences(picture, "class=\"line0\"") == 2);   // and the legend's
  CHECK(occurrences(picture, "class=\"least0\"") == 2);  // the same
  CHECK(occurrences(picture, "class=\"line1\"") == 0);   // nothing was searched there
}

TEST_CASE("frontier: nothing to show is a picture, too") {
  CHECK(svg(std::vector<frontier_curve>{}, "").starts_with("<svg"));
}

TEST_CASE("labels of dots in one place keep apart") {
  using namespace render_detail;
  svg_chart chart;
  chart.place(0, 0, 400, 400);
  svg_canvas canvas;
  dot_labels labels(chart);
  for (int i = 0; i < 3; ++i) labels.add(canvas, 200, 300, "name");
  std::string const text = canvas.finish(400, 400, "");
  CHECK(occurrences(text, "y=\"303\"") == 2);  // right and left of the dot
  CHECK(occurrences(text, "x=\"206\"") == 2);  // the third above the first
  CHECK(occurrences(text, "y=\"294\"") == 1);
}

}  // namespace
