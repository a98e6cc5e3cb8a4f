#include <ashlar/core/tournament.hpp>
// The header above comes first: it needs nothing before it.
#include "random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <vector>

using namespace ashlar;

namespace {

// The first of those that show the earliest time wins, as clocks advance and stop.
TEST_CASE("a tournament of clocks") {
  tournament three(3);
  CHECK(three.earliest() == max_tick);
  three.set(2, 5);
  CHECK((three.winner() == 2 && three.earliest() == 5));
  three.set(1, 5);
  CHECK(three.winner() == 1);
  three.set(0, 7);
  three.set(1, 8);
  CHECK(three.winner() == 2);
  three.set(2, max_tick);
  CHECK((three.winner() == 0 && three.earliest() == 7));

  tournament one(1);
  one.set(0, -4);
  CHECK((one.winner() == 0 && one.earliest() == -4));
}

TEST_CASE("a tournament finds what a walk along all clocks finds") {
  std::mt19937 random(1);
  for (std::size_t n = 1; n < 20; ++n) {
    tournament clocks(n);
    std::vector<tick> times(n, max_tick);
    for (int round = 0; round < random_cases(200); ++round) {
      std::size_t const i = random() % n;
      times[i] = static_cast<tick>(random() % 10);
      clocks.set(i, times[i]);
      auto const first = std::min_element(times.begin(), times.end());
      CHECK(clocks.winner() == static_cast<std::size_t>(std::distance(times.begin(), first)));
      CHECK(clocks.earliest() == *first);
    }
  }
}

}  // namespace
