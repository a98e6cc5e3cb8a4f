#include <ashlar/run/rank_clocks.hpp>
// The header above comes first: it needs nothing before it.
#include "random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

using namespace ashlar;

TEST_CASE("of messages both ways, the quickest of each way take the same time") {
  rank_clocks const c = clocks_of(2, {{0, 1, 1012}, {0, 1, 1010}, {1, 0, -990}, {1, 0, -980}});
  CHECK(c.ahead == std::vector<double>{0, 1000});
  CHECK(c.least_delay == 10);
  CHECK(!c.guessed);
}

TEST_CASE("each pair of a chain has its own quickest messages") {
  // Rank 1 is ahead by 100, rank 2 by 300; messages take 5 between the first two, 20 between the others.
  rank_clocks const c = clocks_of(3, {{0, 1, 105}, {1, 0, -95}, {1, 2, 220}, {2, 1, -180}});
  CHECK(c.ahead == std::vector<double>{0, 100, 300});
  CHECK(c.least_delay == 5);
}

TEST_CASE("where messages go one way only, the quickest takes no time") {
  rank_clocks const c = clocks_of(3, {{0, 1, 105}, {1, 2, 50}, {0, 1, 110}});
  CHECK(c.ahead == std::vector<double>{0, 105, 155});
  CHECK(c.guessed);
  CHECK(clocks_of(2, {}).ahead == std::vector<double>{0, 0});
  CHECK(clocks_of(0, {}).ahead.empty());
}

TEST_CASE("ranks with one clock are compared as they are") {
  rank_clocks const c = clocks_of(3, {{0, 1, 7}, {1, 0, 40}, {1, 2, 205}, {2, 1, -195}}, {4, 4, 9});
  CHECK(c.ahead == std::vector<double>{0, 0, 200});
  CHECK(c.least_delay == 5);
  CHECK(clocks_of(2, {{0, 1, -3}}, {1, 1}).least_delay == -3);
}

TEST_CASE("no clocks fit messages that come before they are sent") {
  CHECK(clocks_of(2, {{0, 1, -30}, {1, 0, 10}}).least_delay == -10);
}

TEST_CASE("under the clocks found, no message takes less than the least mean of any cycle") {
  random_case::dice dice(17);
  for (int round = 0; round < 300; ++round) {
    int const ranks = dice.between(2, 6);
    std::vector<double> ahead;
    for (int r = 0; r < ranks; ++r) ahead.push_back(dice.between(-100000, 100000));
    std::vector<clocked_message> messages;
    for (int r = 0; r < ranks; ++r)  // both ways around a ring, and between any others
      for (int const to : {(r + 1) % ranks, (r + ranks - 1) % ranks, dice.between(0, ranks - 1)})
        if (to != r)
          messages.push_back({r, to,
                              dice.between(1, 50) + ahead[static_cast<std::size_t>(to)]
                                  - ahead[static_cast<std::size_t>(r)]});
    rank_clocks const c = clocks_of(ranks, messages);
    CHECK(!c.guessed);
    CHECK(c.least_delay >= 1 - 1e-3);
    CHECK(c.least_delay <= 50 + 1e-3);
    double least = 1e9;
    for (clocked_message const& m : messages)
      least = std::min(least, m.delay - c.ahead[static_cast<std::size_t>(m.to)]
                                  + c.ahead[static_cast<std::size_t>(m.from)]);
    CHECK(std::abs(least - c.least_delay) < 1e-3);
  }
}
