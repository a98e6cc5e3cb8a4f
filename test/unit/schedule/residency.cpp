#include <ashlar/schedule/residency.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/schedule/from_orders.hpp>

#include <doctest/doctest.h>

using namespace shapes;

namespace {

// Two chunks on one device, of two micro-batches: the numbers of the passes are 0 to 7.
constexpr schedule looped_passes() {
  return squeeze(schedule_from_orders(
      looped(devices{1}, chunks{2}), {0, 0}, {},
      {{{F, 0, 0}, {F, 0, 1}, {F, 1, 0}, {F, 1, 1}, {B, 1, 0}, {B, 1, 1}, {B, 0, 0}, {B, 0, 1}}}));
}

constexpr rule broken_by_stays(std::vector<weight_stay> stays) {
  return check(residency{{std::move(stays)}}, looped_passes()).broken;
}

constexpr bool plans_are_judged() {
  residency const plan{{{{0, 0, 0, 1}, {1, 1, 1, 5}, {0, 0, 3, 7}}}};
  return check(plan, looped_passes()).ok() && plan.buffer_count(0) == 2 && plan.gather_count() == 3
         && check(residency{}, looped_passes()).ok()
         && broken_by_stays({{0, 0, 0, 1}, {1, 0, 2, 5}}) == rule::weights_are_resident_when_used;
}
static_assert(plans_are_judged());

TEST_CASE("a plan names its first fault") {
  CHECK(plans_are_judged());
  CHECK(broken_by_stays({{0, 0, 0, 7}, {1, 1, 2, 5}}) == rule::none);
  CHECK(broken_by_stays({{0, 0, 0, 7}, {1, 1, 3, 5}}) == rule::weights_are_resident_when_used);
  CHECK(broken_by_stays({{0, 0, 0, 7}, {1, 1, 2, 4}}) == rule::weights_are_resident_when_used);
  CHECK(broken_by_stays({{0, 0, 0, 7}, {2, 1, 2, 5}}) == rule::every_pass_is_known);
  CHECK(broken_by_stays({{0, 0, 0, 7}, {-1, 1, 2, 5}}) == rule::every_pass_is_known);
  for (weight_stay const none : {weight_stay{1, 1, 2, 6}, weight_stay{1, 1, 2, 8},
                                 weight_stay{1, 1, 2, 1}, weight_stay{1, 1, -1, 5}})
    CHECK(broken_by_stays({{0, 0, 0, 7}, none}) == rule::gathered_weights_are_used);
  CHECK(broken_by_stays({{0, 0, 0, 7}, {1, 1, 2, 2}, {1, 1, 1, 5}}) == rule::order_has_no_cycle);
  CHECK(broken_by_stays({{0, 0, 0, 1}, {0, 1, 1, 7}, {1, 2, 2, 5}})
        == rule::gathered_weights_are_given_up);
  CHECK(broken_by_stays({{0, 0, 0, 7}, {1, 0, 2, 5}})
        == rule::no_slot_is_overwritten_before_its_last_read);
  CHECK(broken_by_stays({{0, 0, 0, 7}, {1, 2, 2, 5}}) == rule::slot_holds_what_is_read);
  CHECK(broken_by_stays({{0, -1, 0, 7}, {1, 1, 2, 5}}) == rule::slot_holds_what_is_read);
  CHECK(check(residency{{{}, {}}}, looped_passes()).broken == rule::tables_agree);
}

TEST_CASE("the fault has its place") {
  diagnosis const d = check(residency{{{{0, 0, 0, 1}, {1, 0, 2, 5}}}}, looped_passes());
  CHECK((d.first.index == 6 && d.first.what == pass{B, 0, 0}));
  CHECK((d.second.code == opcode::all_gather && d.second.what.stage == 0));
}

}  // namespace
