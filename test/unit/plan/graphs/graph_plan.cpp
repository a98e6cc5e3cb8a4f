#include "random.hpp"
#include <ashlar/plan/graphs/graph_plan.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

// Two branches of two operators, and one that joins them.
operator_model branched_model() {
  operator_model m{stage_graph(stages{5}, {{0, 1}, {1, 4}, {2, 3}, {3, 4}}), {}};
  m.cost.assign(5, {.launch = 1, .forward = 2, .backward_input = 2, .backward_weight = 2, .kept = 1});
  return m;
}

TEST_CASE("branches are stages beside each other") {
  graph_plan const plan = best_graph_plan(branched_model(), {.device_count = 3}, {4, 1});
  CHECK((plan.found() && plan.is_exact && plan.unit == 1));
  CHECK(plan.graph == stage_graph(stages{3}, {{0, 2}, {1, 2}}));
  CHECK(plan.stages[0].operators == std::vector<int>({0, 1}));
  CHECK((plan.time == 4 * (2 * 2 + 2 * 6) && busiest_of(branched_model(), plan, 4) == plan.time));
  schedule const s = schedule_of(branched_model(), plan, 4);
  CHECK(makespan(s) == simulated_step(branched_model(), {.device_count = 3}, plan, 4));
}

TEST_CASE("larger micro-batches where launches cost much, and more devices where there are some") {
  operator_model m{chain(stages{2}), {}};
  m.cost.assign(2, {.launch = 100, .forward = 1, .backward_input = 1, .backward_weight = 1, .kept = 1});
  graph_plan const plan = best_graph_plan(m, {.device_count = 8}, {16, 8});
  CHECK(plan.unit == 8);
  CHECK(plan.time == 2 * (2 * 100 + 3 * 2));  // four devices a stage, two samples each
  graph_plan const tight = best_graph_plan(m, {.device_count = 8, .memory = 3}, {16, 8});
  CHECK(tight.time > plan.time);
}

TEST_CASE("simulation may prefer fewer stages, and is never worse") {
  int changed = 0, count = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    random_case::dice d(seed);
    CAPTURE(seed);
    int const n = d.between(3, 12);
    operator_model m{random_case::random_graph(d, n), {}};
    for (int o = 0; o < n; ++o)
      m.cost.push_back({.launch = d.between(0, 5),
                        .forward = d.between(1, 20),
                        .backward_input = d.between(1, 20),
                        .backward_weight = d.between(1, 20),
                        .kept = 1,
                        .output = d.between(1, 8)});
    operator_machine const machine{.device_count = d.between(2, 6), .bandwidth = d.percent(50) ? 4 : 0};
    operator_batch const batch{8, 4};
    simulated_plan const best = best_simulated_plan(m, machine, batch);
    CHECK(best.chosen_step <= best.rated_step);
    CHECK(simulated_step(m, machine, best.chosen, batch.samples) == best.chosen_step);
    ++count;
    changed += best.differs();
  }
  MESSAGE(changed, " choices of ", count, " changed by simulation");
  CHECK(changed > 0);
}

}  // namespace
