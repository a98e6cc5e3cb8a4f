#include <ashlar/bounds/request_bound.hpp>
// The header above comes first: it needs nothing before it.
#include "violations.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace ashlar;

namespace {

costs forwards(std::vector<tick> const& each, tick transfer = 0) {
  std::vector<stage_cost> all;
  for (tick const forward : each) all.push_back({.forward = forward});
  return {pass_costs::by_stage_and_micro_batch(all, static_cast<int>(all.size())), transfer};
}

TEST_CASE("values of objectives") {
  request_list const asked{{1, 0}, {2, 5}, {1, 1}};
  CHECK(micro_batch_count(asked) == 4);
  CHECK(first_chunks(asked) == std::vector<int>{0, 1, 3, 4});
  CHECK(value_of(request_objective::makespan, asked, {9, 12, 8}) == 12);
  CHECK(value_of(request_objective::mean, asked, {9, 12, 8}) == 9 + 7 + 7);
  CHECK(value_of(request_objective::percentile_99, asked, {9, 12, 8}) == 9);
  CHECK((in_percentile_99(1) == 1 && in_percentile_99(99) == 99 && in_percentile_99(100) == 99));
  CHECK((in_percentile_99(101) == 100 && in_percentile_99(200) == 198));
  request_list const many(200, request{});
  std::vector<tick> ends(200, 7);
  ends[3] = ends[150] = 1000;
  CHECK(value_of(request_objective::percentile_99, many, ends) == 7);
  ends[4] = 90;
  CHECK(value_of(request_objective::percentile_99, many, ends) == 90);
}

TEST_CASE("on one device the bound of the mean is the shortest first") {
  request_list const asked{{1, 0}, {1, 0}, {1, 0}};
  request_bounds const least = request_bound(linear(devices{1}), asked, forwards({5, 1, 3}));
  CHECK(least == request_bounds{9, 1 + 4 + 9, 9});
  // The short one interrupts the long one.
  CHECK(request_bound(linear(devices{1}), {{1, 0}, {1, 2}}, forwards({10, 1})).mean == 11 + 1);
}

TEST_CASE("requests alone take their longest way, and a device with two stages all its passes") {
  CHECK(request_bound(linear(devices{3}), {{1, 4}}, forwards({5}, 2)) == request_bounds{23, 19, 19});
  // Two chunks on two stages of two devices: 5 + 5 + 7, or 5 + 7 + 7.
  CHECK(request_bound(linear(devices{2}), {{2, 0}}, forwards({5, 7})).makespan == 19);
  CHECK(request_bound(looped(devices{1}, chunks{2}), {{2, 0}}, forwards({5, 7})).makespan == 24);
}

// The sixteenth stage of eight devices: 72 ticks of work between ways of 21.
TEST_CASE("head, work and tail of a looped placement") {
  for (int const m : {12, 24}) {
    request_list const asked(static_cast<std::size_t>(m), request{});
    costs const each(stage_cost{.forward = 3});
    CHECK(request_bound(looped(devices{8}, chunks{2}), asked, each).makespan == 6 * m + 21);
  }
}

TEST_CASE("wrong requests are refused") {
  costs const each(stage_cost{.forward = 1});
  CHECK_BREAKS(counts_are_positive, request_bound(linear(devices{2}), {}, each));
  CHECK_BREAKS(counts_are_positive, request_bound(linear(devices{2}), {{1, 0}, {0, 0}}, each));
  CHECK_BREAKS(ticks_fit, request_bound(linear(devices{2}), {{1, -1}}, each));
  CHECK_BREAKS(parameter_is_at_most, request_bound(linear(devices{2}), {{most_passes, 0}}, each));
  CHECK_BREAKS(tables_agree, request_bound(linear(devices{2}), {{2, 0}}, forwards({1, 2, 3})));
}

}  // namespace
