// Frontiers, comparisons and the labels of dots.
#include <ashlar/render/comparison.hpp>
#include <ashlar/render/frontier.hpp>
#include <ashlar/render/named_curves.hpp>
#include <ashlar/render/svg_canvas.hpp>
#include <ashlar/render/svg_chart.hpp>

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
  CHECK(occurrences(picture, "<title>here, 50 %: overhead 30 %</title>") == 1);
  CHECK(occurrences(picture, "<title>here, 100 %: overhead 10 %</title>") == 1);
  CHECK(occurrences(picture, "<title>near (here), 75 %: overhead 25 %</title>") == 1);
  CHECK(occurrences(picture, "holds too much") == 0);
  CHECK(occurrences(picture, "idles") == 0);
  CHECK(occurrences(picture, "class=\"line0\"") == 2);   // and the legend's
  CHECK(occurrences(picture, "class=\"least0\"") == 2);  // the same
  CHECK(occurrences(picture, "class=\"line1\"") == 0);   // nothing was searched there
}

TEST_CASE("frontier: nothing to show is a picture, too") {
  CHECK(svg(std::vector<frontier_curve>{}, "").starts_with("<svg"));
}

TEST_CASE("curves: a line and dots for each series, axes as they are asked for") {
  std::vector<named_curve> const curves{{"up", {{1, 0.25}, {8, 0.5}, {64, 1}}}, {"alone", {{8, 0.75}}}};
  curve_axis const devices{.name = "devices", .logarithmic = true},
      share{.name = "share", .percent = true};
  std::string const picture = svg(curves, devices, share, "how it scales");
  CHECK(occurrences(picture, "<title>how it scales</title>") == 1);
  CHECK(occurrences(picture, "<title>up: 8, 50 %</title>") == 1);
  CHECK(occurrences(picture, "<title>alone: 8, 75 %</title>") == 1);
  CHECK(occurrences(picture, "class=\"line0\"") == 2);  // and the legend's
  // Half way along a logarithmic axis, half way up a linear one: the dot's box begins three pixels
  // before.
  CHECK(occurrences(picture, "x=\"333\" y=\"199\"") == 1);
  CHECK(svg(std::vector<named_curve>{}, devices, share, "").starts_with("<svg"));
  CHECK(svg({{"one", {{1, 0}}}}, devices, share, "").starts_with("<svg"));
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

TEST_CASE("labels are clear of dots and curves, and near the edge, inside") {
  using namespace render_detail;
  svg_chart chart;
  chart.place(0, 0, 400, 400);
  svg_canvas canvas;
  dot_labels labels(chart);
  labels.keep_clear({{0.0, 0.25}, {1.0, 0.25}});  // a curve through the dot, from edge to edge
  labels.keep_clear(200, 300);
  labels.add(canvas, 200, 300, "name");
  std::string const text = canvas.finish(400, 400, "");
  CHECK(occurrences(text, "y=\"303\"") == 0);
  CHECK(occurrences(text, "y=\"297\"") == 1);  // letters end above the curve
  dot_labels corner(chart);
  svg_canvas other;
  corner.add(other, 398, 2, "name");
  CHECK(occurrences(other.finish(400, 400, ""), "class=\"e s\"") == 1);  // left of the dot
}

comparison numbers(double memory, double overhead, bool trains = true) {
  comparison c{.makespan = 1, .overhead = overhead, .peaks = {memory}};
  c.trains = trains;
  return c;
}

TEST_CASE("comparison: outliers, placements, and what does not train") {
  std::vector<compared_schedule> const all{{"one", numbers(1, 0.1), compared_bound{0.9, 0.9}, "linear"},
                                           {"same", numbers(1, 0.1), {}, "linear"},
                                           {"vee", numbers(0.5, 0.12), {}, "V-shape"},
                                           {"large", numbers(8, 0.1), {}, "linear"},
                                           {"idle", numbers(0.5, 0.9), {}, "V-shape"},
                                           {"forwards", numbers(0.2, 0.3, false), {}, "linear"}};
  std::string const picture = svg(all, "side by side");
  CHECK(occurrences(picture, "<title>side by side</title>") == 1);
  CHECK(occurrences(picture,
                    "one: overhead 10 %, no less than 0 %, activations 100 %; same: overhead 10 %")
        == 1);
  CHECK(occurrences(picture, ">one, same</text>") == 1);
  CHECK(occurrences(picture, ">large (800 % held)</text>") == 1);
  CHECK(occurrences(picture, ">idle (overhead 90 %)</text>") == 1);
  CHECK(occurrences(picture, ">400 %</text>") == 0);  // the outlier does not set the scale
  CHECK(occurrences(picture, ">forwards: overhead 30 %</text>") == 1);
  CHECK(occurrences(picture, "class=\"dot0\"") == 3);  // one and large; the legend
  CHECK(occurrences(picture, "class=\"dot1\"") == 3);
  CHECK(svg(std::vector<compared_schedule>{}, "").starts_with("<svg"));
}

}  // namespace
