#include <ashlar/plan/parts/variants.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

TEST_CASE("variants add up, in memory of their own or in turn") {
  variant const a{.time = 3, .memory = 10, .penalty = 1}, b{.time = 4, .memory = 20, .penalty = 5};
  CHECK((a.cost() == 4 && b.cost() == 9));
  CHECK(side_by_side(a, b) == variant{7, 30, 6});
  CHECK((in_turn(a, b) == variant{7, 20, 6} && in_turn(b, a) == variant{7, 20, 6}));
  // Times beyond the range stay at its end.
  CHECK(side_by_side({.time = max_tick}, a).time == max_tick);
}

TEST_CASE("a front has what nothing is better than") {
  constexpr auto itself = [](variant const& v) -> variant const& { return v; };
  std::vector<variant> const all{{5, 30, 0}, {9, 10, 0}, {9, 20, 0}, {7, 20, 0},
                                 {5, 40, 0}, {4, 20, 3}, {1, 30, 4}};
  std::vector<variant> const front = pareto_front(all, itself);
  // {7, 20, 0} ties with {4, 20, 3}, and {5, 30, 0} with {1, 30, 4}: the first of them stays.
  CHECK(front == std::vector<variant>{{9, 10, 0}, {7, 20, 0}, {5, 30, 0}});
  CHECK((cheapest_within(front, 9, itself) == -1 && cheapest_within(front, 10, itself) == 0));
  CHECK((cheapest_within(front, 29, itself) == 1 && cheapest_within(front, 1000, itself) == 2));
  CHECK(pareto_front(std::vector<variant>{}, itself).empty());
}

}  // namespace
