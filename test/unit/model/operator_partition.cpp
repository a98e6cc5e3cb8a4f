#include "static_check.hpp"
#include <ashlar/model/operator_partition.hpp>

using namespace ashlar;

namespace {

// Two branches of two operators between a first and a last one.
constexpr stage_graph diamond() {
  return stage_graph(stages{6}, {{0, 1}, {1, 2}, {0, 3}, {3, 4}, {2, 5}, {4, 5}});
}

constexpr bool test_stages_of_operators() {
  // A stage for each branch, numbered as they come.
  operator_partition const p = partitioned(diamond(), {2, 0, 0, 1, 1, 3});
  HOLDS(p.number == std::vector<int>({1, 2, 0, 3}));
  HOLDS(p.stage_of == std::vector<int>({0, 1, 1, 2, 2, 3}));
  HOLDS(p.graph == stage_graph(stages{4}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
  HOLDS(partitioned(diamond(), {0, 0, 0, 0, 0, 0}).graph == chain(stages{1}));
  HOLDS(partitioned(diamond(), {0, 1, 2, 3, 4, 5}).graph == diamond());
  return true;
}
BOTH_TIMES("a cut of operators has a stage graph", test_stages_of_operators)

constexpr bool test_returning_path() {
  // 0 and 5 in one stage: both branches leave it and come back, the shortest first found by 1, 2.
  std::vector<int> const cut{0, 1, 1, 2, 2, 0};
  HOLDS(find_returning_path(diamond(), cut) == std::vector<int>({0, 1, 2, 5}));
  diagnosis const d = check_partition(diamond(), cut);
  HOLDS(d.broken == rule::stages_are_convex);
  HOLDS(d.first.index == 0 && d.second.index == 5 && d.first.what.stage == 0 && d.number == 1);
  HOLDS(find_returning_path(diamond(), {0, 0, 0, 1, 1, 2}).empty());
  return true;
}
BOTH_TIMES("a path that leaves a stage and comes back is named", test_returning_path)

constexpr bool test_cycle() {
  // Convex stages that need each other: {0, 3} and {1, 2} over edges 0 > 2 and 1 > 3.
  stage_graph const crossed(stages{4}, {{0, 2}, {1, 3}});
  diagnosis const d = check_partition(crossed, {0, 1, 1, 0});
  HOLDS(d.broken == rule::stages_have_no_cycle);
  HOLDS(d.first.what.stage + d.second.what.stage == 1);
  HOLDS(check_partition(crossed, {0, 1, 0, 1}).ok());
  return true;
}
BOTH_TIMES("stages that need each other in a cycle are named", test_cycle)

TEST_CASE("stages are numbered without gaps") {
  CHECK_BREAKS(tables_agree, partitioned(diamond(), {0, 0, 0}));
  CHECK_BREAKS(tables_agree, partitioned(diamond(), {0, 0, 2, 2, 2, 2}));
  CHECK_BREAKS(tables_agree, partitioned(diamond(), {0, 0, -1, 1, 1, 1}));
  CHECK_BREAKS(tables_agree, partitioned(diamond(), {0, 0, 1, 1, 1, 1000000000}));
}

}  // namespace
