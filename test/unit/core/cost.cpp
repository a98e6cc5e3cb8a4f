#include <ashlar/core/cost.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

using namespace ashlar;

namespace {

constexpr bool test_stage_cost() {
  stage_cost const c{.forward = 2, .backward_input = 3, .backward_weight = 5};
  HOLDS(c.of(pass_kind::forward) == 2);
  HOLDS(c.of(pass_kind::recompute) == 2);  // as long as a forward unless told otherwise
  HOLDS(c.of(pass_kind::backward) == 8);
  HOLDS(c.of(pass_kind::backward_input) == 3);
  HOLDS(c.of(pass_kind::backward_weight) == 5);
  HOLDS(c.of(pass_kind::work) == 0);  // its job says
  HOLDS(stage_cost{2, 3, 5, 7}.of(pass_kind::recompute) == 7);
  return true;
}
BOTH_TIMES("costs of a stage's passes", test_stage_cost)

constexpr bool test_cost_values() {
  costs const unit;
  HOLDS(unit.of({pass_kind::backward, 17, 0}) == 2);
  HOLDS(unit.transfer == 0);
  costs const alike(stage_cost{4, 5, 6}, 7);
  HOLDS(alike.of({pass_kind::forward, 0, 0}) == 4 && alike.of({pass_kind::forward, 9, 3}) == 4);
  HOLDS(alike.transfer == 7);
  costs const each(std::vector<stage_cost>{{1, 1, 1}, {2, 3, 4}});
  HOLDS(each.of({pass_kind::forward, 0, 0}) == 1 && each.of({pass_kind::forward, 1, 0}) == 2);
  HOLDS(each.of_stage(1).backward_input == 3);
  HOLDS(each != alike && each == costs(each));
  return true;
}
BOTH_TIMES("one cost for all stages or one each", test_cost_values)

}  // namespace
