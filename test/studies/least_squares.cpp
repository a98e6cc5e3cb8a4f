#include "studies/least_squares.hpp"
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

bool is_near(double a, double b) { return a - b < 1e-9 && b - a < 1e-9; }

TEST_CASE("least squares: weights that are not negative, errors relative") {
  // The weights are 2 and 3, exactly.
  std::vector<double> const both = fit_nonnegative({{1, 0}, {1, 1}, {1, 2}}, {2, 5, 8}, 200);
  CHECK((is_near(both[0], 2) && is_near(both[1], 3)));
  CHECK(is_near(weighted_sum(both, {1, 4}), 14));
  // Without its sign constraint the second would be -1: with 0, 1 / t of the first should be near 1 in
  // relative terms.
  std::vector<double> const one = fit_nonnegative({{2, 1}, {4, 3}}, {1, 1}, 200);
  CHECK((is_near(one[0], 0.3) && is_near(one[1], 0)));
  // A weight that is nowhere in the rows stays 0.
  CHECK(fit_nonnegative({{1, 0}}, {4}, 3)[1] < 1e-12);
  CHECK(fit_nonnegative({}, {}).empty());
}

}  // namespace
