#include <ashlar/plan/graphs/series_parallel.hpp>

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

TEST_CASE("parts one after another and beside each other") {
  // 0, then 1 2 beside 3, then 4 beside 5, then 6.
  stage_graph const g(stages{7},
                      {{0, 1}, {1, 2}, {0, 3}, {2, 4}, {2, 5}, {3, 4}, {3, 5}, {4, 6}, {5, 6}});
  part_tree const t = series_parallel(g);
  CHECK(t.is_exact);
  graph_part const& root = t.of(t.root);
  CHECK((root.kind == part_kind::series && root.parts.size() == 4));
  CHECK((t.of(root.parts[0]).single == 0 && t.of(root.parts[3]).single == 6));
  graph_part const& wide = t.of(root.parts[1]);
  CHECK((wide.kind == part_kind::parallel && wide.members == std::vector<int>({1, 2, 3})));
  CHECK((t.of(wide.parts[0]).members == std::vector<int>({1, 2})
         && t.of(wide.parts[0]).parts.size() == 2));
  CHECK(t.of(root.parts[2]).members == std::vector<int>({4, 5}));
}

TEST_CASE("an edge beside a path changes nothing; islands are branches") {
  part_tree const t = series_parallel(stage_graph(stages{3}, {{0, 1}, {0, 2}, {1, 2}}));
  CHECK((t.is_exact && t.of(t.root).parts.size() == 3));
  part_tree const islands = series_parallel(stage_graph(stages{2}, {}));
  CHECK((islands.is_exact && islands.of(islands.of(islands.root).parts[0]).kind == part_kind::parallel));
}

TEST_CASE("what is no tree is cut by its levels") {
  // The letter N: 0 before 2, 1 before 2 and 3.
  part_tree const t = series_parallel(stage_graph(stages{4}, {{0, 2}, {1, 2}, {1, 3}}));
  CHECK((!t.is_exact && t.of(t.root).parts.size() == 2));
  CHECK(t.of(t.of(t.root).parts[0]).members == std::vector<int>({0, 1}));
  CHECK(t.of(t.of(t.root).parts[1]).members == std::vector<int>({2, 3}));
}

}  // namespace
