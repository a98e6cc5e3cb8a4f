#include <ashlar/simulate/timeline.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

TEST_CASE("times of a timeline are within its makespan, after causes that there are") {
  CHECK(timed_instruction{}.cause == -1);
  auto const broken = [](timed_instruction const& t, tick makespan) {
    timeline line;
    line.timed = {{.start = 0, .end = 2}, t};
    line.makespan = makespan;
    return check(line).broken;
  };
  CHECK(broken({.start = 2, .end = 5, .made = 1, .cause = 0}, 5) == rule::none);
  CHECK(broken({.start = 2, .end = 2, .made = 9, .cause = 1}, 2) == rule::none);
  CHECK(broken({.start = 2, .end = 6}, 5) == rule::ticks_fit);
  CHECK(broken({.start = 3, .end = 2}, 5) == rule::ticks_fit);
  CHECK(broken({.start = -1, .end = 2}, 5) == rule::ticks_fit);
  CHECK(broken({.start = 1, .end = 2, .made = -1}, 5) == rule::ticks_fit);
  CHECK(broken({.cause = 2}, 5) == rule::tables_agree);
  CHECK(broken({.cause = -2}, 5) == rule::tables_agree);
  CHECK(broken({}, -1) == rule::ticks_fit);
  CHECK(broken({}, max_tick) == rule::ticks_fit);
}

}  // namespace
