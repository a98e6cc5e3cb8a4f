#include <ashlar/model/grids.hpp>
// The header above comes first: it needs nothing before it.

#include "violations.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

using namespace ashlar;

namespace {

constexpr bool test_grids() {
  // An encoder of one stage, twice, beside a decoder of three.
  if (in_grids({{stages{1}, 2}, {stages{3}}}) != placement(devices{5}, {{0, 2, 3, 4}, {1, 2, 3, 4}}))
    return false;
  // Two and three replicas: six routes, on which every pair of replicas meets once.
  placement const both = in_grids({{stages{1}, 2}, {stages{1}, 3}});
  return both.device_count() == 5
         && both == placement(devices{5}, {{0, 2}, {1, 3}, {0, 4}, {1, 2}, {0, 3}, {1, 4}});
}
static_assert(test_grids());

}  // namespace

TEST_CASE("modules on grids of their own: routes, devices") { CHECK(test_grids()); }

TEST_CASE("grids of modules: routes in turns deal micro-batches evenly to the replicas of each") {
  for (int a = 1; a <= 4; ++a)
    for (int b = 1; b <= 4; ++b)
      for (int length = 1; length <= 3; ++length) {
        placement const where = in_grids({{stages{length}, a}, {stages{2}, b}});
        CHECK(where.device_count() == length * a + 2 * b);
        std::vector<int> taken(static_cast<std::size_t>(where.device_count()), 0);
        for (int route = 0; route < where.route_count(); ++route)
          for (int stage = 0; stage < where.stage_count(); ++stage)
            ++taken[static_cast<std::size_t>(where.device_of(route, stage))];
        for (int d = 0; d < where.device_count(); ++d)
          CHECK(taken[static_cast<std::size_t>(d)] == where.route_count() / (d < length * a ? a : b));
      }
}

TEST_CASE("grids of modules that there are not") {
  constexpr int most = std::numeric_limits<int>::max();
  CHECK_BREAKS(counts_are_positive, in_grids({}));
  CHECK_BREAKS(counts_are_positive, in_grids({{stages{0}}}));
  CHECK_BREAKS(counts_are_positive, in_grids({{stages{1}, 0}}));
  CHECK_BREAKS(parameter_is_at_most, in_grids({{stages{most}}}));
  CHECK_BREAKS(parameter_is_at_most, in_grids({{stages{4}, most}}));
  CHECK_BREAKS(parameter_is_at_most, in_grids({{stages{1}, 521}, {stages{1}, 523}}));  // routes
}
