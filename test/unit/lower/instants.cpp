#include <ashlar/lower/instants.hpp>
// The header above comes first: it needs nothing before it.

#include "options_of.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <cstddef>

using namespace shapes;

namespace {

bool has_same_orders(schedule const& a, schedule const& b) {
  for (std::size_t d = 0; d < a.order.size(); ++d)
    for (std::size_t i = 0; i < a.order[d].size(); ++i)
      if (a.order[d][i].what != b.order[d][i].what) return false;
  return true;
}

// Both passes of a forward and a fused backward, whose weight pass takes no time.
TEST_CASE("instants: a tick becomes three for each pass that there is, and for one more") {
  schedule const s = retime(one_f_one_b(1, 1), costs(stage_cost{2, 1, 0}));
  stage_cost const finer = without_instants(s).cost.passes.at(0);
  CHECK((finer.forward == 2 * 9 && finer.backward_input == 9 && finer.backward_weight == 1));
}

// At half the speed a tick takes two, at twice the speed still one.
TEST_CASE("instants: ticks are so fine that the slowest device can tell passes apart") {
  costs cost(stage_cost{2, 1, 0});
  cost.on.speeds = {50, 200};
  CHECK(without_instants(retime(one_f_one_b(2, 1), cost)).cost.passes.at(0).forward == 2 * 2 * 3 * 5);
}

TEST_CASE("instants: passes that wait for each other are refused") {
  schedule const s = schedule_from_orders(linear(devices{1}), {0}, costs(stage_cost{0, 0, 0}),
                                          {{{B, 0, 0}, {F, 0, 0}}});
  CHECK_THROWS_AS(without_instants(s), violation);
}

TEST_CASE("instants: on a finer timeline every pass takes time, in the same orders") {
  for (stage_cost const c : {stage_cost{0, 0, 0}, stage_cost{1, 0, 2}, stage_cost{0, 3, 0, 0}}) {
    costs cost(c, 2);
    cost.on.speeds = {100, 30, 100};
    schedule const s = retime(one_f_one_b(3, 4), cost);
    schedule const finer = without_instants(s);
    CHECK(check(finer).ok());
    CHECK(has_same_orders(s, finer));
    CHECK_FALSE(finer.cost.passes.has_instants());
    CHECK(finer.order[0][0].start == 0);
    for (auto const& order : finer.order)
      for (std::size_t i = 1; i < order.size(); ++i) CHECK(order[i].start > order[i - 1].start);
  }
}

TEST_CASE(
    "instants: a program of passes that take no time is proved and takes what its schedule takes") {
  for (stage_cost const c : {stage_cost{0, 0, 0}, stage_cost{1, 2, 0}, stage_cost{0, 1, 0}}) {
    schedule const s = retime(one_f_one_b(3, 4), costs(c));
    CHECK(check(s).ok());
    program const p = lower(s);
    CHECK(check(p).ok());
    CHECK(time_program(p, options_of(s)).makespan == makespan(s));
  }
}

TEST_CASE("instants: work becomes as much longer as passes do") {
  schedule s = retime(one_f_one_b(1, 1), costs(stage_cost{2, 1, 0}));
  s.work = work_graph({{.parts = {{0, 5}}, .does = compute_job{}}}, {{{B, 0, 0}, {X, 0, 0}}});
  s.order[0].push_back({{X, 0, 0}, 3});
  CHECK(check(s).ok());
  schedule finer = without_instants(s);
  tick const unit = finer.cost.passes.at(0).forward / 2;
  CHECK(unit > 1);
  CHECK(finer.work.view().duration(part_id{0, 0}) == 5 * unit);
  CHECK(check(finer).ok());
}

TEST_CASE("instants: times that would be too fine are refused") {
  schedule const s = retime(one_f_one_b(3, 4), costs(stage_cost{max_tick / 100, 1, 0}));
  CHECK_BREAKS(ticks_fit, without_instants(s));
}

}  // namespace
