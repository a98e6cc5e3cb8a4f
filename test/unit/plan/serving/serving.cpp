#include <ashlar/plan/serving/serving.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

#include <vector>

using namespace ashlar;

namespace {

// Two devices, three layers, each in two widths: the wider takes longer, more memory and no penalty.
serving_problem two_devices() {
  serving_problem problem;
  problem.limit = {6, 4};
  problem.shape = {.prefills = 2, .groups = 2, .tokens = 3};
  for (int d = 0; d < 2; ++d)
    problem.variants.push_back(std::vector<std::vector<layer_variant>>(
        3, {{{10 + 10 * d, 1}, 2, 7}, {{12 + 10 * d, 2}, 4, 0}}));
  return problem;
}

TEST_CASE("a serving plan's objective is the formula and its penalties") {
  serving_problem const problem = two_devices();
  CHECK((check(problem).ok() && problem.device_count() == 2 && problem.layer_count() == 3));
  CHECK(problem.of(1, 0)[1].sum() == variant{24, 4, 0});
  serving_plan plan;
  plan.device = {0, 0, 1};
  plan.width = {0, 1, 0};
  std::vector<stage_load> const loads = loads_of(problem, plan);
  CHECK((loads.size() == 2 && loads[0] == stage_load{{22, 3}, 6, 7}
         && loads[1] == stage_load{{20, 1}, 2, 7}));
  // 42 + 22 of prefill, 4 + 1 * 3 * 3 of decode, penalties 14.
  CHECK(objective_of(problem, plan) == 64 + 13 + 14);
}

TEST_CASE("serving problems that say different things are refused") {
  auto const broken = [](auto change) {
    serving_problem problem = two_devices();
    change(problem);
    return check(problem).broken;
  };
  CHECK(broken([](serving_problem& p) { p.limit.clear(); }) == rule::counts_are_positive);
  CHECK(broken([](serving_problem& p) { p.shape.groups = 0; }) == rule::counts_are_positive);
  CHECK(broken([](serving_problem& p) { p.shape.tokens = -1; }) == rule::counts_are_positive);
  CHECK(broken([](serving_problem& p) { p.limit.push_back(1); }) == rule::tables_agree);
  CHECK(broken([](serving_problem& p) { p.variants[1].pop_back(); }) == rule::tables_agree);
  CHECK(broken([](serving_problem& p) { p.variants[1][2].clear(); }) == rule::counts_are_positive);
  CHECK(broken([](serving_problem& p) { p.variants[1][2][0].memory = -1; })
        == rule::no_duration_is_negative);
  CHECK(broken([](serving_problem& p) {
          p.variants = {{{{}}}, {{{}}}};
        })
        == rule::parameter_is_at_least);
}

}  // namespace
