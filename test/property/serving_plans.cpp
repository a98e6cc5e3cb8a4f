// Compares serving plans with exhaustive search, on random small cases.
#include "random.hpp"
#include "random_cases.hpp"
#include <ashlar/plan/serving/plan_serving.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace random_case;

namespace {

serving_problem random_serving(dice& d) {
  int const p = d.between(1, 3), layers = d.between(p > 1 ? 2 : 1, 4);
  serving_problem problem;
  problem.shape = {.prefills = d.between(1, 4), .groups = d.between(1, 4), .tokens = d.between(0, 3)};
  for (int device = 0; device < p; ++device) {
    problem.limit.push_back(d.between(3, 25));
    problem.variants.emplace_back();
    for (int l = 0; l < layers; ++l) {
      problem.variants.back().emplace_back();
      for (int w = d.between(1, 3); w > 0; --w)
        problem.variants.back().back().push_back(
            {{d.between(0, 9), d.between(0, 9)}, d.between(1, 9), d.percent(50) ? d.between(0, 9) : 0});
    }
  }
  return problem;
}

bool fits(serving_problem const& problem, serving_plan const& plan) {
  std::vector<stage_load> const loads = loads_of(problem, plan);
  for (std::size_t device = 0; device < loads.size(); ++device)
    if (loads[device].memory > problem.limit[device]) return false;
  return true;
}

// Every way to place the layers from plan.device.size() on.
tick best_of_all(serving_problem const& problem, serving_plan& plan) {
  int const layer = static_cast<int>(plan.device.size()), last = problem.device_count() - 1;
  if (layer == problem.layer_count())
    return plan.device.back() == last && fits(problem, plan) ? objective_of(problem, plan) : max_tick;
  tick least = max_tick;
  for (int device = layer == 0 ? 0 : plan.device.back(); device <= (layer == 0 ? 0 : last); ++device)
    for (int w = 0; w < static_cast<int>(problem.of(device, layer).size()); ++w) {
      plan.device.push_back(device), plan.width.push_back(w);
      least = std::min(least, best_of_all(problem, plan));
      plan.device.pop_back(), plan.width.pop_back();
    }
  return least;
}

}  // namespace

TEST_CASE("serving plans are the best of all, and what is missing is missing") {
  int without = 0;
  FOR_SEEDS(random_cases(400)) {
    serving_problem problem = random_serving(d);
    serving_plan all;
    tick const least = best_of_all(problem, all);
    serving_plan const plan = plan_serving(problem);
    CHECK_MESSAGE((plan.device.empty() ? max_tick : plan.objective) == least, "seed ", seed);
    if (!plan.device.empty()) {
      CHECK_MESSAGE((fits(problem, plan) && objective_of(problem, plan) == plan.objective), "seed ",
                    seed);
      continue;
    }
    // One byte less than the stated shortfall is too little. If the first device cannot hold even one
    // layer, its shortfall may not be all.
    ++without;
    REQUIRE_MESSAGE((plan.short_device >= 0 && plan.missing > 0), "seed ", seed);
    byte_count& limit = problem.limit[static_cast<std::size_t>(plan.short_device)];
    limit += plan.missing - 1;
    CHECK_MESSAGE(best_of_all(problem, all) == max_tick, "seed ", seed);
    limit += 1;
    if (plan.short_device == problem.device_count() - 1)
      CHECK_MESSAGE(best_of_all(problem, all) < max_tick, "seed ", seed);
  }
  CHECK(without > 20);
}
