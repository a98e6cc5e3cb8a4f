#include <ashlar/schedule/from_orders.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"

using namespace shapes;

namespace {

TEST_CASE("a schedule of which only the orders are known") {
  schedule const s = schedule_from_orders(linear(devices{2}), {0}, costs(stage_cost{1, 2, 3}, 4),
                                          {{{F, 0, 0}, {B, 0, 0}}, {{F, 1, 0}, {B, 1, 0}}});
  CHECK((s.device_count() == 2 && s.stage_count() == 2 && s.graph == chain(stages{2})));
  CHECK(s.order[1][1] == time_slot{{B, 1, 0}, 0});
  CHECK((s.order[0].size() == 2 && s.order[0][0] == time_slot{{F, 0, 0}, 0}));
}

TEST_CASE("passes that start together are a pair") {
  schedule s = schedule_from_orders(placement(devices{1}, {{0, 0}}), {0, 0}, costs(stage_cost{3, 2, 1}),
                                    {{{F, 0, 0}, {F, 1, 1}, {B, 0, 0}, {B, 1, 1}}});
  std::vector<time_slot>& order = s.order[0];
  for (auto const i : {1, 2}) order[static_cast<std::size_t>(i)].start = 3;
  order[3].start = 6;
  schedule instants = s;
  find_pairs(s);
  CHECK(order == std::vector<time_slot>{{{F, 0, 0}, 0}, {{F, 1, 1}, 3, {B, 0, 0}}, {{B, 1, 1}, 6}});
  // A pass that takes no time may start where the next does.
  instants.cost.passes = stage_cost{0, 2, 1};
  schedule const apart = instants;
  find_pairs(instants);
  CHECK(instants == apart);
}

TEST_CASE("what starts together and cannot be a pair stays apart, for checks to find") {
  schedule s = schedule_from_orders(linear(devices{1}), {0, 0}, {},
                                    {{{F, 0, 0}, {F, 0, 1}, {B, 0, 0}, {B, 0, 1}}});
  find_pairs(s);  // all at 0
  std::vector<time_slot> const order{{{F, 0, 0}, 0}, {{F, 0, 1}, 0, {B, 0, 0}}, {{B, 0, 1}, 0}};
  CHECK(s.order[0] == order);
  find_pairs(s);
  CHECK(s.order[0] == order);
}

TEST_CASE("there must be an order for each device") {
  CHECK_BREAKS(tables_agree, schedule_from_orders(linear(devices{2}), {0}, {}, {{}}));
  CHECK_BREAKS(tables_agree, schedule_from_orders(linear(devices{2}), {0}, {}, {}));
}

}  // namespace
