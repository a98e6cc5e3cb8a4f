#include <ashlar/core/moved_times.hpp>
// The header above comes first: it needs nothing before it.
#include "violations.hpp"

#include <cstdint>

using namespace ashlar;

namespace {

TEST_CASE("times are moved within the range of ticks") {
  CHECK((shifted(3, -5) == -2 && shifted(max_tick - 2, 1) == max_tick - 1));
  for (tick const wrong : {max_tick, -max_tick, INT64_MAX, INT64_MIN}) {
    CHECK_BREAKS(ticks_fit, shifted(wrong, 0));
    CHECK_BREAKS(ticks_fit, shifted(0, wrong));
  }
  CHECK_BREAKS(ticks_fit, shifted(max_tick - 1, 1));
}

TEST_CASE("times are stretched within the range of ticks") {
  CHECK((stretched(-3, 5) == -15 && stretched(0, max_tick) == 0 && stretched(max_tick, 1) == max_tick));
  CHECK_BREAKS(counts_are_positive, stretched(1, 0));
  CHECK_BREAKS(counts_are_positive, stretched(1, INT64_MIN));
  CHECK_BREAKS(ticks_fit, stretched(max_tick / 2, 3));
  CHECK_BREAKS(ticks_fit, stretched(INT64_MIN, 2));
}

}  // namespace
