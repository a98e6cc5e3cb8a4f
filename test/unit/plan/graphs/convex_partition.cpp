#include <ashlar/plan/graphs/convex_partition.hpp>
// The header above comes first: it needs nothing before it.
#include <ashlar/plan/graphs/graph_plan.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace ashlar;

namespace {

// Two operators and one that joins them; ticks a sample 6, 2 and 4.
operator_model joined_model() {
  operator_model m{stage_graph(stages{3}, {{0, 2}, {1, 2}}), {}};
  for (tick t : {6, 2, 4}) m.cost.push_back({.forward = t, .backward_input = t, .backward_weight = t});
  return m;
}

// graph_partition.cpp compares it with exhaustive search.
TEST_CASE("a branch may share a stage with what joins it") {
  operator_model const m = joined_model();
  operator_machine const machine{.device_count = 2};
  convex_partitioner all(m, machine, {4, 1});
  // No tree has the second operator and the third in one stage, without the first.
  CHECK(all.stages_below(4 * 3 * 6).empty());
  std::vector<planned_stage> const best = all.stages_below(4 * 3 * 8);
  CHECK((best.size() == 2 && best[1].operators == std::vector<int>({1, 2})));
  CHECK(all.is_complete());
  graph_partitioner tree(m, machine, {4, 1});
  CHECK(least_time_of(tree) == 4 * 3 * 8);
  CHECK(best_graph_plan(m, machine, {4, 1}).time == 4 * 3 * 6);
}

TEST_CASE("a message takes time where stages are cut, and nowhere else") {
  operator_model m = joined_model();
  m.cost[1].output = 10;
  // Values that stay within a stage are not sent.
  convex_partitioner one(m, {.device_count = 1, .bandwidth = 1}, {4, 1});
  CHECK(one.stages_below(4 * 3 * 12 + 1).size() == 1);
  // A cut sends 40 bytes in 40 ticks, next to stages of 72; with a thousandth of the link no cut is
  // worth it.
  m.cost[1].output = 1;
  convex_partitioner cut(m, {.device_count = 2, .bandwidth = 1}, {4, 1});
  CHECK(cut.stages_below(4 * 3 * 8).size() == 2);
  m.cost[0].output = m.cost[1].output = 100;
  convex_partitioner slow(m, {.device_count = 2, .bandwidth = 1}, {4, 1});
  CHECK(slow.stages_below(4 * 3 * 12 + 1).size() == 1);
}

// The second operator needs two devices, and so two samples at a time; of the first, 2 + 2 are in
// flight.
TEST_CASE("a stage keeps what the larger micro-batches after it need") {
  operator_model m{chain(stages{2}), {}};
  m.cost.push_back({.forward = 2, .backward_input = 2, .backward_weight = 2, .kept = 5});
  m.cost.push_back({.forward = 4, .backward_input = 4, .backward_weight = 4});
  operator_batch const batch{8, 2};
  byte_count const needed = memory_of_stage(m.cost[0], {1, 1}, 4, batch.samples);
  CHECK(needed == 20);
  convex_partitioner fits(m, {.device_count = 3, .memory = needed}, batch);
  CHECK(fits.stages_below(8 * 3 * 2 + 1).size() == 2);
  convex_partitioner tight(m, {.device_count = 3, .memory = needed - 1}, batch);
  CHECK(tight.stages_below(8 * 3 * 2 + 1).empty());
}

TEST_CASE("a search with too many choices says so") {
  operator_model m{stage_graph(stages{40}, {}), {}};
  m.cost.assign(40, {.forward = 1, .backward_input = 1, .backward_weight = 1});
  convex_partitioner all(m, {.device_count = 3}, {1, 1});
  CHECK(all.stages_below(max_tick / 4).empty());
  CHECK(!all.is_complete());
  CHECK(!best_graph_plan(m, {.device_count = 3}, {1, 1}).is_exact);
}

TEST_CASE("more than 64 operators are tried, too") {
  // A chain beside which one operator feeds the last.
  std::vector<stage_edge> edges{{0, 70}};
  for (int o = 1; o < 70; ++o) edges.push_back({o, o + 1});
  operator_model m{stage_graph(stages{71}, edges), {}};
  m.cost.assign(71, {.forward = 1, .backward_input = 1, .backward_weight = 1});
  graph_plan const plan = best_graph_plan(m, {.device_count = 4}, {1, 1});
  CHECK((plan.is_exact && plan.time == 3 * 18));
}

}  // namespace
