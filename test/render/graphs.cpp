// Stage graphs in pictures and words.
#include "random.hpp"
#include "random_cases.hpp"
#include <ashlar/render/graph_drawing.hpp>
#include <ashlar/render/svg_graph.hpp>
#include <ashlar/render/text_graph.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace random_case;

namespace {

ashlar::stage_graph two_towers_of_sizes() {
  return in_micro_batches(ashlar::stage_graph(ashlar::stages{5}, {{0, 1}, {1, 4}, {2, 3}, {3, 4}}),
                          {1, 2, 1, 2, 4});
}

}  // namespace

TEST_CASE("graph layout: edges lead to the right, layer by layer, and nothing lies on anything else") {
  FOR_SEEDS(static_cast<unsigned>(random_cases(60))) {
    CAPTURE(seed);
    int const count = d.between(1, 12);
    std::vector<ashlar::stage_edge> edges;
    for (int to = 0; to < count; ++to)
      for (int from = 0; from < to; ++from)
        if (d.percent(30)) edges.push_back({from, to});
    ashlar::stage_graph const g(ashlar::stages{count}, edges);
    ashlar::render_detail::graph_drawing const layout(g);
    std::set<std::pair<int, double>> taken;
    for (int stage = 0; stage < count; ++stage)
      CHECK(taken.insert({layout.of(stage).layer, layout.of(stage).row}).second);
    auto const drawn = layout.edges();
    REQUIRE(drawn.size() == edges.size());
    for (auto const& points : drawn) {
      for (std::size_t i = 1; i < points.size(); ++i) {
        CHECK(points[i].layer == points[i - 1].layer + 1);
        if (i + 1 < points.size()) CHECK(taken.insert({points[i].layer, points[i].row}).second);
      }
    }
  }
}

TEST_CASE("graph layout: a chain is one line, branches lie beside each other") {
  ashlar::render_detail::graph_drawing const line(ashlar::chain(ashlar::stages{4}));
  CHECK(line.row_count() == 1);
  CHECK(line.layer_count() == 4);
  ashlar::render_detail::graph_drawing const towers(two_towers_of_sizes());
  CHECK(towers.row_count() == 2);
  CHECK(towers.of(0).row == towers.of(1).row);  // no tower crosses the other
  CHECK(towers.of(2).row == towers.of(3).row);
  CHECK(towers.of(4).row == 0);
}

TEST_CASE("a stage graph is drawn with its sizes and devices") {
  std::string const picture =
      svg(two_towers_of_sizes(), ashlar::v_shape(ashlar::devices{5}), {.title = "towers"});
  CHECK(picture.find(">stage 4 x4<") != std::string::npos);
  CHECK(picture.find("<title>stage 4 on device 4, micro-batches of 4</title>") != std::string::npos);
  CHECK(picture.find("<title>towers</title>") != std::string::npos);
  std::string const twice =
      svg(ashlar::chain(ashlar::stages{2}),
          overlay(ashlar::linear(ashlar::devices{2}), mirror(ashlar::linear(ashlar::devices{2}))));
  CHECK(twice.find("<title>stage 0 on devices 0, 1</title>") != std::string::npos);
}

TEST_CASE("a stage graph is told") {
  CHECK(text(two_towers_of_sizes(), ashlar::linear(ashlar::devices{5}))
        == "stage 0 on device 0, micro-batches of 1 -> 1\n"
           "stage 1 on device 1, micro-batches of 2 -> 4\n"
           "stage 2 on device 2, micro-batches of 1 -> 3\n"
           "stage 3 on device 3, micro-batches of 2 -> 4\n"
           "stage 4 on device 4, micro-batches of 4\n");
}
