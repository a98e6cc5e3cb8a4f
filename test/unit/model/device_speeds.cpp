#include <ashlar/model/device_speeds.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"
#include <ashlar/block/check.hpp>
#include <ashlar/render/diagnosis.hpp>

using namespace ashlar;

namespace {

constexpr bool test_rounding() {
  HOLDS(at_speed(10, 100) == 10 && at_speed(10, 50) == 20 && at_speed(10, 200) == 5);
  HOLDS(at_speed(10, 30) == 34 && at_speed(9, 30) == 30);  // 33.3 ticks take 34
  HOLDS(at_speed(1, 1000) == 1 && at_speed(0, 3) == 0);
  HOLDS(at_speed(max_tick, 100) == max_tick && at_speed(max_tick, 200) == max_tick / 2 + 1);
  HOLDS(at_speed(max_tick, 99) == max_tick && at_speed(max_tick / 100, 1) == max_tick / 100 * 100);
  HOLDS(at_speed(max_tick, 1) == max_tick);
  return true;
}
BOTH_TIMES("times at a speed are rounded up", test_rounding)

constexpr bool test_stages() {
  placement const v = v_shape(devices{2});  // stages 0 3, 1 2
  costs const alike({.forward = 10, .backward_input = 13, .backward_weight = 7}, 3);
  costs const each = at_speeds(alike, v, {{100, 40}});
  HOLDS(each.per_stage.size() == 4 && each.transfer == 3);
  HOLDS(each.of_stage(0) == alike.of_stage(0) && each.of_stage(3) == alike.of_stage(0));
  HOLDS(each.of_stage(1).forward == 25 && each.of_stage(1).backward_input == 33
        && each.of_stage(1).backward_weight == 18 && each.of_stage(2) == each.of_stage(1));
  HOLDS(each.of({pass_kind::recompute, 1, 0}) == 25);  // as long as a forward still

  // Stages of their own, and a recompute that is told.
  costs own(std::vector<stage_cost>(4, alike.of_stage(0)));
  own.per_stage[2] = {.forward = 1, .backward_input = 2, .backward_weight = 3, .recompute = 4};
  costs const slow = at_speeds(own, v, {{50, 25}});
  HOLDS(slow.of_stage(2)
        == stage_cost{.forward = 4, .backward_input = 8, .backward_weight = 12, .recompute = 16});
  HOLDS(slow.of_stage(3).forward == 20);
  HOLDS(at_speeds(own, v, {{100, 100}}) == own);
  return true;
}
BOTH_TIMES("each stage takes what it takes on its device", test_stages)

TEST_CASE("speeds that are none") {
  placement const v = v_shape(devices{2});
  CHECK(check(device_speeds{{100}}, v).broken == rule::tables_agree);
  CHECK(check(device_speeds{{100, 100, 100}}, v).number == 3);
  CHECK(explain(check(device_speeds{{100, 0}}, v))
        == "the speed in percent on device 1 must be at least 1, not 0");
  CHECK_BREAKS(tables_agree, at_speeds({}, v, {{100}}));
  CHECK_BREAKS(parameter_is_at_least, at_speeds({}, v, {{-5, 100}}));
  CHECK_BREAKS(tables_agree, at_speeds(costs(std::vector<stage_cost>(3)), v, {{100, 100}}));
  // So slow that nothing can be summed up.
  CHECK(check(at_speeds(costs(stage_cost{max_tick / 50, 1, 1}), v, {{1, 1}}), 4, 1).broken
        == rule::ticks_fit);
}

TEST_CASE("replicas on devices of different speeds have no cost by stage") {
  placement const both = overlay(linear(devices{3}), mirror(linear(devices{3})));
  CHECK_BREAKS(replicas_are_equally_fast, at_speeds(costs(stage_cost{}), both, {{100, 100, 50}}));
  costs const each = at_speeds(costs(stage_cost{}), both, {{50, 100, 50}});
  CHECK(each.of_stage(0).forward == 2);
  CHECK(each.of_stage(1).forward == 1);
}

}  // namespace
