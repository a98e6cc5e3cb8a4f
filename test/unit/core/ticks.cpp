#include <ashlar/core/ticks.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

using namespace ashlar;

namespace {

constexpr bool test_saturation() {
  HOLDS(saturating_product(3, 5) == 15);
  HOLDS(saturating_product(0, max_tick) == 0);
  HOLDS(saturating_product(max_tick, 0) == 0);
  HOLDS(saturating_product(max_tick, 1) == max_tick);
  HOLDS(saturating_product(max_tick, 2) == max_tick);
  HOLDS(saturating_product(max_tick / 2 + 1, 2) == max_tick);
  HOLDS(saturating_product(max_tick / 2, 2) == max_tick - 1);  // the largest that is exact
  HOLDS(saturating_sum(3, 5) == 8);
  HOLDS(saturating_sum(max_tick, 0) == max_tick);
  HOLDS(saturating_sum(max_tick, max_tick) == max_tick);
  HOLDS(max_tick + max_tick > max_tick);  // a sum of two times does not overflow
  return true;
}
BOTH_TIMES("products and sums saturate", test_saturation)

constexpr bool test_floor() {
  for (tick a = -20; a <= 20; ++a)
    for (tick b = 1; b <= 7; ++b) {
      tick const r = floor_remainder(a, b);
      HOLDS(0 <= r && r < b);
      HOLDS(floor_quotient(a, b) * b + r == a);
    }
  HOLDS(floor_quotient(-1, 1'000'000'007) == -1);
  HOLDS(floor_remainder(-1, 1'000'000'007) == 1'000'000'006);
  return true;
}
BOTH_TIMES("division rounds towards minus infinity", test_floor)

}  // namespace
