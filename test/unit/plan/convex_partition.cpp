#include <ashlar/plan/convex_partition.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"
#include <ashlar/plan/graph_plan.hpp>

#include <vector>

using namespace ashlar;

namespace {

// Two operators and one that joins them; ticks a sample 6, 2 and 4.
constexpr operator_model joined_model() {
  operator_model m{stage_graph(stages{3}, {{0, 2}, {1, 2}}), {}};
  for (tick t : {6, 2, 4}) m.cost.push_back({.forward = t, .backward_input = t, .backward_weight = t});
  return m;
}

// Which test/unit/plan/graph_partition.cpp compares with exhaustive search.
constexpr bool test_branch_with_join() {
  operator_model const m = joined_model();
  operator_machine const machine{.device_count = 2};
  convex_partitioner all(m, machine, {4, 1});
  // No tree has the second operator and the third in one stage, without the first.
  HOLDS(all.stages_below(4 * 3 * 6).empty());
  std::vector<planned_stage> const best = all.stages_below(4 * 3 * 8);
  HOLDS(best.size() == 2 && best[1].operators == std::vector<int>({1, 2}));
  HOLDS(all.is_complete());
  graph_partitioner tree(m, machine, {4, 1});
  HOLDS(least_time_of(tree) == 4 * 3 * 8);
  HOLDS(best_graph_plan(m, machine, {4, 1}).time == 4 * 3 * 6);
  return true;
}
BOTH_TIMES("a branch may share a stage with what joins it", test_branch_with_join)

TEST_CASE("a search with too many choices says so") {
  // The first operator fits nowhere, whatever is chosen for those after it.
  operator_model m{chain(stages{8}), {}};
  m.cost.assign(8, {.forward = 1, .backward_input = 1, .backward_weight = 1, .kept = 1});
  m.cost[0].weights = 100;
  convex_partitioner all(m, {.device_count = 64, .memory = 99}, {1 << 14, 1 << 14});
  CHECK(all.stages_below(max_tick / 4).empty());
  CHECK(!all.is_complete());
}

}  // namespace
