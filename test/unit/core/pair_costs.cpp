#include <ashlar/core/pair_costs.hpp>
// The header above comes first: it needs nothing before it.
#include "violations.hpp"

#include <vector>

using namespace ashlar;

namespace {

TEST_CASE("pairs of no cost, of one, and of one for each pair of stages") {
  pair_costs const none, one(7);
  CHECK((!none.are_given() && one.are_given() && one.stages() == 0));
  CHECK(pair_costs(0).are_given());
  CHECK(pair_costs(-2).are_given());  // given, and for a check to refuse
  CHECK((one.of(3, pass_kind::backward_weight, 5) == 7 && one.longest() == 7 && one.shortest() == 7));
  pair_costs const each = pair_costs::by_stage({9, 4, 5, 1, 8, 7, 6, 20, 3, 2, 11, 10}, 2);
  CHECK((each.are_given() && each.stages() == 2 && each.shortest() == 1 && each.longest() == 20));
  CHECK((each.of(0, pass_kind::backward, 0) == 9 && each.of(0, pass_kind::backward_input, 1) == 8));
  CHECK((each.of(1, pass_kind::backward_weight, 0) == 3 && each.of(1, pass_kind::backward, 1) == 2));
  pair_costs const alike = pair_costs::by_stage({4, 3, 2}, 1);  // of all stages
  CHECK((alike.of(5, pass_kind::backward, 6) == 4 && alike.of(0, pass_kind::backward_weight, 9) == 2));
  CHECK_BREAKS(counts_are_positive, pair_costs::by_stage({}, 0));
  CHECK_BREAKS(tables_agree, pair_costs::by_stage({1, 2, 3}, 2));
}

TEST_CASE("each cost of pairs that is given is changed") {
  auto const twice = [](tick t) { return 2 * t; };
  pair_costs none, one(7), each = pair_costs::by_stage({4, 3, 2}, 1);
  none.change_each(twice);
  one.change_each(twice);
  each.change_each(twice);
  CHECK((none == pair_costs() && one == pair_costs(14)));
  CHECK((each == pair_costs::by_stage({8, 6, 4}, 1) && each != pair_costs::by_stage({8, 6, 5}, 1)));
}

TEST_CASE("a table of pairs says how many entries it has and needs") {
  try {
    pair_costs::by_stage({1, 2, 3, 4, 5}, 2);
    CHECK(false);
  } catch (violation const& v) {
    CHECK(v.why == wrong_size(table::pair_costs, 5, 12));
  }
}

}  // namespace
