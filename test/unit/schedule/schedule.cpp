#include <ashlar/schedule/schedule.hpp>
// First, so that it needs nothing before it.

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

constexpr pass_kind F = pass_kind::forward, B = pass_kind::backward;

TEST_CASE("a schedule that has no passes yet") {
  schedule const s = schedule_without_passes(linear(devices{2}), {0}, costs(stage_cost{1, 2, 3}, 4));
  CHECK((s.device_count() == 2 && s.stage_count() == 2 && s.micro_batch_count() == 1));
  CHECK((s.graph == chain(stages{2}) && s.order[0].empty() && s.order[1].empty()));
  CHECK(s.end_of({{B, 1, 0}, 7}, 1) == 12);
  CHECK(s.device_of({B, 1, 0}) == 1);
  CHECK((s == schedule(s) && schedule{}.device_count() == 0));
}

TEST_CASE("a pair is a forward and then a backward that start together") {
  std::vector<timed_pass> order{{{F, 0, 1}, 0, 1}, {{B, 1, 0}, 0, 0}, {{F, 0, 2}, 3}};
  CHECK((is_paired_right(order, 0) && is_paired_right(order, 1) && is_paired_right(order, 2)));
  order[1].start = 1;
  CHECK((!is_paired_right(order, 0) && !is_paired_right(order, 1)));
  CHECK((!is_paired_right({order[1]}, 0) && !is_paired_right({order[0]}, 0)));  // one without the other
}

}  // namespace
