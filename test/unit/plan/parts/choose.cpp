#include <ashlar/plan/parts/choose.hpp>
// The header above comes first: it needs nothing before it.
#include "violations.hpp"

#include <cstdint>

using namespace ashlar;

namespace {

TEST_CASE("a choice is the cheapest within the memory") {
  // The best for 10 bytes takes neither thing's cheapest, nor the best of each for half of them.
  std::vector<std::vector<variant>> const things{{{100, 1, 0}, {60, 7, 0}, {50, 9, 0}},
                                                 {{80, 1, 0}, {70, 3, 0}, {10, 10, 0}}};
  CHECK(choose(things, 10) == choice{.of = {1, 1}, .what = {130, 10, 0}, .at_least = 130});
  CHECK(choose(things, 11) == choice{.of = {0, 2}, .what = {110, 11, 0}, .at_least = 110});
  CHECK((choose(things, 19).of == std::vector<int>{2, 2}
         && choose(things, 1000).of == std::vector<int>{2, 2}));
  CHECK(choose(things, 2).of == std::vector<int>{0, 0});
  choice const none = choose(things, -3);
  CHECK((none.of.empty() && none.missing == 5));
  // Penalties decide where times do not.
  CHECK(choose({{{10, 4, 0}, {10, 2, 3}, {10, 1, 9}}}, 3).of == std::vector<int>{1});
  CHECK(choose({}, 0) == choice{});
}

// Each byte saves a tick, so that no bound tells the choices apart, and there are two to the power
// of 60.
TEST_CASE("choices without number: some answer, and a bound that says how good it is") {
  std::vector<std::vector<variant>> things;
  byte_count all = 0;
  for (int i = 0; i < 60; ++i) {
    byte_count const bytes = (tick{1} << 40) + (tick{1} << (i % 39)) + 7 * i;
    things.push_back({{bytes, 0, 0}, {0, bytes, 0}});
    all += bytes;
  }
  choice const c = choose(things, all / 2);
  CHECK(c.what.memory <= all / 2);
  CHECK(c.at_least <= c.what.cost());
  CHECK(c.at_least >= all - all / 2 - all / 1'000'000);  // each byte saves one tick
  CHECK(c.what.cost() - c.at_least < all / 60);
}

TEST_CASE("times and memory that are negative or out of range are refused") {
  for (tick const wrong : {tick{-1}, INT64_MIN, max_tick, INT64_MAX}) {
    CHECK_BREAKS(ticks_fit, choose({{{wrong, 1, 0}}}, 3));
    CHECK_BREAKS(ticks_fit, choose({{{1, 1, wrong}}}, 3));
    CHECK_BREAKS(sizes_fit, choose({{{1, wrong, 0}}}, 3));
    if (wrong != -1) CHECK_BREAKS(sizes_fit, choose({{{1, 1, 0}}}, wrong));
  }
}

TEST_CASE("a thing without variants is refused") { CHECK_BREAKS(counts_are_positive, choose({{}}, 1)); }

}  // namespace
