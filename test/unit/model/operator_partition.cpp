#include "violations.hpp"
#include <ashlar/model/operator_partition.hpp>

using namespace ashlar;

namespace {

// Two branches of two operators between a first and a last one.
constexpr stage_graph diamond() {
  return stage_graph(stages{6}, {{0, 1}, {1, 2}, {0, 3}, {3, 4}, {2, 5}, {4, 5}});
}

TEST_CASE("a cut of operators has a stage graph") {
  // There is a stage for each branch, numbered as they come.
  operator_partition const p = partitioned(diamond(), {2, 0, 0, 1, 1, 3});
  CHECK(p.number == std::vector<int>({1, 2, 0, 3}));
  CHECK(p.stage_of == std::vector<int>({0, 1, 1, 2, 2, 3}));
  CHECK(p.graph == stage_graph(stages{4}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
  CHECK(partitioned(diamond(), {0, 0, 0, 0, 0, 0}).graph == chain(stages{1}));
  CHECK(partitioned(diamond(), {0, 1, 2, 3, 4, 5}).graph == diamond());
}

TEST_CASE("a path that leaves a stage and comes back is named") {
  // 0 and 5 are in one stage: both branches leave it and come back, the shortest first found by 1, 2.
  std::vector<int> const cut{0, 1, 1, 2, 2, 0};
  CHECK(find_returning_path(diamond(), cut) == std::vector<int>({0, 1, 2, 5}));
  diagnosis const d = check_partition(diamond(), cut);
  CHECK(d.broken == rule::stages_are_convex);
  CHECK((d.first.index == 0 && d.second.index == 5 && d.first.what.stage == 0 && d.number == 1));
  CHECK(find_returning_path(diamond(), {0, 0, 0, 1, 1, 2}).empty());
}

TEST_CASE("stages that need each other in a cycle are named") {
  // These convex stages need each other: {0, 3} and {1, 2} over edges 0 > 2 and 1 > 3.
  stage_graph const crossed(stages{4}, {{0, 2}, {1, 3}});
  diagnosis const d = check_partition(crossed, {0, 1, 1, 0});
  CHECK(d.broken == rule::stages_have_no_cycle);
  CHECK(d.first.what.stage + d.second.what.stage == 1);
  CHECK(check_partition(crossed, {0, 1, 0, 1}).ok());
}

TEST_CASE("stages are numbered without gaps") {
  CHECK_BREAKS(tables_agree, partitioned(diamond(), {0, 0, 0}));
  CHECK_BREAKS(tables_agree, partitioned(diamond(), {0, 0, 2, 2, 2, 2}));
  CHECK_BREAKS(tables_agree, partitioned(diamond(), {0, 0, -1, 1, 1, 1}));
  CHECK_BREAKS(tables_agree, partitioned(diamond(), {0, 0, 1, 1, 1, 1000000000}));
}

}  // namespace
