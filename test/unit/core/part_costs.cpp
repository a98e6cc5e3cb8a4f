// The costs of passes that consist of parts, alone and as pairs.
#include "part_lists.hpp"
#include "violations.hpp"
#include <ashlar/block/form.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/core/part_costs.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace ashlar;
using namespace part_lists;

namespace {

constexpr stage_parts small_experts() {
  return {.forward = {computes(4), exchanges(3)},
          .backward = {exchanges(3), computes(4), computes(2, true)}};
}
constexpr stage_parts small_dense() {
  return {.forward = {computes(5)}, .backward = {computes(5), computes(5, true)}};
}

constexpr pass first_of(pass_kind kind, int stage) { return {kind, stage, 0}; }

TEST_CASE("passes take the sum of their parts, pairs what their braid takes") {
  costs const c(costs_of(part_costs{.stages = {small_experts(), small_dense()}}));
  using enum pass_kind;
  CHECK(c.of(first_of(forward, 0), 0) == 7);
  CHECK(c.of(first_of(backward_input, 0), 0) == 7);
  CHECK(c.of(first_of(backward_weight, 0), 0) == 2);
  CHECK(c.of(first_of(backward, 0), 0) == 9);
  CHECK(c.of(first_of(recompute, 0), 0) == 7);
  CHECK(c.of(first_of(backward, 1), 0) == 10);
  // The forward's attention beside the backward's combine, its dispatch beside what is left.
  CHECK(c.of_pair(first_of(forward, 0), first_of(backward, 0), 0) == 10);
  CHECK(c.of_pair(first_of(forward, 0), first_of(backward_input, 0), 0) == 8);
  CHECK(c.of_pair(first_of(forward, 0), first_of(backward_weight, 0), 0) == 7);
  CHECK(c.of_pair(first_of(forward, 0), first_of(backward, 1), 0) == 14);
  CHECK(c.of_pair(first_of(forward, 1), first_of(backward, 0), 0) == 5 + 6);
  CHECK(c.of_pair(first_of(forward, 1), first_of(backward, 1), 0) == 15);  // nothing to hide
  CHECK(check(c, 2, 1, 4, 1).ok());
  CHECK(check(c, 3, 1, 4, 1).broken == rule::tables_agree);
}

TEST_CASE("a single stage is all stages") {
  costs const c(costs_of(part_costs{.stages = {small_experts()}}));
  CHECK((c.passes.stages() == 0 && c.passes.overlapped.stages() == 1));
  CHECK(c.of_pair(first_of(pass_kind::forward, 7), first_of(pass_kind::backward, 3), 0) == 10);
  CHECK(check(c, 5, 5, 4, 1).ok());
}

TEST_CASE("slow devices, and pairs of other stages than there are") {
  costs c(costs_of(part_costs{.stages = {small_experts()}}));
  c.on.speeds = {100, 50};
  CHECK(c.of_pair(first_of(pass_kind::forward, 0), first_of(pass_kind::backward, 0), 1) == 20);
  costs pairs(std::vector<stage_cost>(3));
  pairs.passes.overlapped = pair_costs::by_stage(std::vector<tick>(12, 2), 2);
  CHECK(check(pairs, 3, 3, 4, 1) == wrong_size(table::pair_costs, 12, 27));
  CHECK_BREAKS(tables_agree, pair_costs::by_stage(std::vector<tick>(11, 2), 2));
  CHECK_BREAKS(counts_are_positive, pair_costs::by_stage({}, 0));
  pairs.passes.overlapped = pair_costs::by_stage({2, 2, -2}, 1);
  CHECK(check(pairs, 3, 3, 4, 1).broken == rule::no_duration_is_negative);
}

TEST_CASE("parts that are none are refused") {
  CHECK_BREAKS(tables_agree, costs_of(part_costs{}));
  CHECK(check(part_costs{}) == wrong_size(table::stage_costs, 0, 1));
  CHECK(check(part_costs{}, 4) == wrong_size(table::stage_costs, 0, 4));
  CHECK(check(part_costs{.stages = std::vector<stage_parts>(3)}, 4)
        == wrong_size(table::stage_costs, 3, 4));
  stage_parts instant = small_dense();
  instant.forward[0].duration = 0;
  CHECK(check(part_costs{.stages = {instant}}).ok());
  stage_parts wrong = small_dense();
  wrong.backward[1].duration = -1;
  try {
    static_cast<void>(costs_of(part_costs{.stages = {small_dense(), wrong}}));
    CHECK(false);
  } catch (violation const& v) {
    CHECK(v.why.broken == rule::no_duration_is_negative);
    CHECK(v.why.first.what == first_of(pass_kind::backward, 1));
    CHECK(v.why.number == -1);
  }
  CHECK(check(part_costs{.stages = {wrong, small_dense()}}).first.what
        == first_of(pass_kind::backward, 0));
}

TEST_CASE("layers of a stage, and all times together") {
  stage_parts const two = repeated(small_experts(), 2);
  CHECK(cost_of(two) == stage_cost{14, 14, 4});
  CHECK((two.forward.size() == 4 && two.backward.size() == 6));
  pass_costs once = costs_of(part_costs{.stages = {two}});
  CHECK(once.overlapped.of(0, pass_kind::backward, 0) == 20);  // computing alone takes as long
  once.overlapped.change_each([](tick t) { return 3 * t; });
  CHECK(once.overlapped.longest() == 3 * best_braid(two.forward, two.backward));
  CHECK(once.overlapped.shortest() == 3 * 14);
}

TEST_CASE("the steps that braids take, and the most parts that layers may have") {
  part_costs c;
  c.stages = {{.forward = {2, pass_part{}}, .backward = {3, pass_part{}}},
              {.forward = {1, pass_part{}}, .backward = {5, pass_part{}}}};
  CHECK((braid_sizes(c, {0}) == 2 * 3 && braid_sizes(c, {0, 1}) == (2 + 1) * (3 + 5)));
  c.how = braiding::in_turn;
  CHECK((braid_sizes(c, {0}) == 2 + 3 && braid_sizes(c, {0, 1}) == 2 * (2 + 3 + 1 + 5)));
  CHECK(pass_part{}.duration == 1);
  CHECK_BREAKS(parameter_is_at_most, repeated(c.stages[0], most_passes / 5 + 1));
}

TEST_CASE("whether passes are the sums of parts") {
  part_costs const two{.stages = {small_experts(), small_dense()}}, one{.stages = {small_experts()}};
  CHECK(are_sums_of(costs_of(two), two, 2));
  CHECK(are_sums_of(costs_of(one), one, 2));
  CHECK(!are_sums_of(costs_of(two), one, 2));
  CHECK(!are_sums_of(costs_of(one), two, 2));
  CHECK(!are_sums_of(costs_of(two), two, 3));
  CHECK(!are_sums_of(costs_of(one), part_costs{}, 2));
  CHECK(are_sums_of(stage_cost{7, 7, 2}, one, 2));
  for (stage_cost const& other : {stage_cost{8, 7, 2}, {7, 8, 2}, {7, 7, 3}, {7, 7, 2, 8}}) {
    CHECK(!are_sums_of(other, one, 2));
    CHECK(!are_sums_of(pass_costs::by_stage_and_micro_batch({{7, 7, 2}, other}, 2), one, 2));
  }
}

TEST_CASE("braids of too many parts are refused, not tried") {
  part_costs c;
  stage_parts one;
  for (int i = 0; i < 1025; ++i) one.forward.push_back({.duration = 1});
  one.backward = one.forward;
  c.stages.push_back(one);
  CHECK_BREAKS(parameter_is_at_most, costs_of(c));  // of one pair
  c = {};
  for (int stage = 0; stage < 9; ++stage) {
    one = {};
    for (int i = 0; i < 500; ++i) one.forward.push_back({.duration = stage + 1});
    one.backward = one.forward;
    c.stages.push_back(one);
  }
  CHECK_BREAKS(parameter_is_at_most, costs_of(c));  // of all
  c.how = braiding::in_turn;
  CHECK(costs_of(c).overlapped.of(0, pass_kind::backward, 0) > 0);
}

// These steps have names because g++ 12 does not evaluate a list in a list.
constexpr tick pair_of_small_experts() {
  part_costs c;
  c.stages.push_back(small_experts());
  return costs_of(c).overlapped.of(0, pass_kind::backward, 0);
}
static_assert(pair_of_small_experts() == 10);

}  // namespace
