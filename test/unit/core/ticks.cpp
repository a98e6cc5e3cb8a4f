#include <ashlar/core/ticks.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

TEST_CASE("products and sums saturate") {
  CHECK(saturating_product(3, 5) == 15);
  CHECK(saturating_product(0, max_tick) == 0);
  CHECK(saturating_product(max_tick, 0) == 0);
  CHECK(saturating_product(max_tick, 1) == max_tick);
  CHECK(saturating_product(max_tick, 2) == max_tick);
  CHECK(saturating_product(max_tick / 2 + 1, 2) == max_tick);
  CHECK(saturating_product(max_tick / 2, 2) == max_tick - 1);  // the largest that is exact
  CHECK(saturating_sum(3, 5) == 8);
  CHECK(saturating_sum(max_tick, 0) == max_tick);
  CHECK(saturating_sum(max_tick, max_tick) == max_tick);
  CHECK(max_tick + max_tick > max_tick);  // a sum of two times does not overflow
}

TEST_CASE("division rounds towards minus infinity") {
  for (tick a = -20; a <= 20; ++a)
    for (tick b = 1; b <= 7; ++b) {
      tick const r = floor_remainder(a, b);
      CHECK((0 <= r && r < b));
      CHECK(floor_quotient(a, b) * b + r == a);
    }
  CHECK(floor_quotient(-1, 1'000'000'007) == -1);
  CHECK(floor_remainder(-1, 1'000'000'007) == 1'000'000'006);
}

}  // namespace
