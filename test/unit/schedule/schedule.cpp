#include <ashlar/schedule/schedule.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

using namespace ashlar;

namespace {

constexpr pass_kind F = pass_kind::forward, B = pass_kind::backward;

constexpr bool test_without_passes() {
  schedule const s = schedule_without_passes(linear(devices{2}), {0}, costs(stage_cost{1, 2, 3}, 4));
  HOLDS(s.device_count() == 2 && s.stage_count() == 2 && s.micro_batch_count() == 1);
  HOLDS(s.graph == chain(stages{2}) && s.order[0].empty() && s.order[1].empty());
  HOLDS(s.end_of({{B, 1, 0}, 7}, 1) == 12);
  HOLDS(s.device_of({B, 1, 0}) == 1);
  HOLDS(s == schedule(s) && schedule{}.device_count() == 0);
  return true;
}
BOTH_TIMES("a schedule that has no passes yet", test_without_passes)

constexpr bool test_pairs() {
  std::vector<timed_pass> order{{{F, 0, 1}, 0, 1}, {{B, 1, 0}, 0, 0}, {{F, 0, 2}, 3}};
  HOLDS(is_paired_right(order, 0) && is_paired_right(order, 1) && is_paired_right(order, 2));
  order[1].start = 1;
  HOLDS(!is_paired_right(order, 0) && !is_paired_right(order, 1));
  HOLDS(!is_paired_right({order[1]}, 0) && !is_paired_right({order[0]}, 0));  // one without the other
  return true;
}
BOTH_TIMES("a pair is a forward and then a backward that start together", test_pairs)

}  // namespace
