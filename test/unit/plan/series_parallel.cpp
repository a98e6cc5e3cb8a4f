#include "static_check.hpp"
#include <ashlar/plan/series_parallel.hpp>

using namespace ashlar;

namespace {

constexpr bool test_tree_of_branches() {
  // 0, then 1 2 beside 3, then 4 beside 5, then 6.
  stage_graph const g(stages{7},
                      {{0, 1}, {1, 2}, {0, 3}, {2, 4}, {2, 5}, {3, 4}, {3, 5}, {4, 6}, {5, 6}});
  part_tree const t = series_parallel(g);
  HOLDS(t.is_exact);
  graph_part const& root = t.of(t.root);
  HOLDS(root.kind == part_kind::series && root.parts.size() == 4);
  HOLDS(t.of(root.parts[0]).single == 0 && t.of(root.parts[3]).single == 6);
  graph_part const& wide = t.of(root.parts[1]);
  HOLDS(wide.kind == part_kind::parallel && wide.members == std::vector<int>({1, 2, 3}));
  HOLDS(t.of(wide.parts[0]).members == std::vector<int>({1, 2})
        && t.of(wide.parts[0]).parts.size() == 2);
  HOLDS(t.of(root.parts[2]).members == std::vector<int>({4, 5}));
  return true;
}
BOTH_TIMES("parts one after another and beside each other", test_tree_of_branches)

constexpr bool test_edges_that_paths_imply() {
  part_tree const t = series_parallel(stage_graph(stages{3}, {{0, 1}, {0, 2}, {1, 2}}));
  HOLDS(t.is_exact && t.of(t.root).parts.size() == 3);
  part_tree const islands = series_parallel(stage_graph(stages{2}, {}));
  HOLDS(islands.is_exact && islands.of(islands.of(islands.root).parts[0]).kind == part_kind::parallel);
  return true;
}
BOTH_TIMES("an edge beside a path changes nothing; islands are branches", test_edges_that_paths_imply)

constexpr bool test_what_is_no_tree() {
  // The letter N: 0 before 2, 1 before 2 and 3.
  part_tree const t = series_parallel(stage_graph(stages{4}, {{0, 2}, {1, 2}, {1, 3}}));
  HOLDS(!t.is_exact && t.of(t.root).parts.size() == 2);
  HOLDS(t.of(t.of(t.root).parts[0]).members == std::vector<int>({0, 1}));
  HOLDS(t.of(t.of(t.root).parts[1]).members == std::vector<int>({2, 3}));
  return true;
}
BOTH_TIMES("what is no tree is cut by its levels", test_what_is_no_tree)

}  // namespace
