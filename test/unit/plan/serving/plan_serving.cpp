#include <ashlar/plan/serving/plan_serving.hpp>
// The header above comes first: it needs nothing before it.
#include "violations.hpp"

#include <vector>

using namespace ashlar;

namespace {

// A fast device and a slow one; 16 bits are as fast as 8 here, without loss, and twice as large.
serving_problem fast_and_slow(byte_count first, byte_count last) {
  serving_problem problem;
  problem.limit = {first, last};
  problem.shape = {.prefills = 4, .groups = 4, .tokens = 2};
  for (int d = 0; d < 2; ++d)
    problem.variants.push_back(std::vector<std::vector<layer_variant>>(
        3, {{{2 + 2 * d, 2 + 2 * d}, 8, 3}, {{2 + 2 * d, 2 + 2 * d}, 16, 0}}));
  return problem;
}

TEST_CASE("serving plans use fast devices and what memory there is") {
  serving_plan const plan = plan_serving(fast_and_slow(24, 16));
  CHECK(plan.device == std::vector<int>{0, 0, 1});
  CHECK((plan.width[2] == 1 && plan.width[0] + plan.width[1] == 1));  // what fits is without loss
  CHECK(plan.objective == (8 + 3 * 4) + (8 + 3 * 2 * 4) + 3);
  // The first device has room for one only.
  CHECK(plan_serving(fast_and_slow(8, 16)).device == std::vector<int>{0, 1, 1});
}

TEST_CASE("if nothing fits, a device is short of so many bytes") {
  // 16 of 24 bytes remain for the last device, which has 10.
  serving_plan const late = plan_serving(fast_and_slow(15, 10));
  CHECK((late.device.empty() && late.short_device == 1 && late.missing == 6));
  CHECK(!plan_serving(fast_and_slow(15, 16)).device.empty());
  serving_plan const early = plan_serving(fast_and_slow(5, 100));
  CHECK((early.device.empty() && early.short_device == 0 && early.missing == 3));
}

TEST_CASE("serving plans of fewer layers than two ends are refused") {
  serving_problem problem = fast_and_slow(100, 100);
  for (auto& layers : problem.variants) layers.resize(1);
  CHECK_BREAKS(parameter_is_at_least, plan_serving(problem));
}

}  // namespace
