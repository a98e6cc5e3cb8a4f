#include <ashlar/plan/choose.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

using namespace ashlar;

namespace {

constexpr bool test_cheapest_choice() {
  // The best for 10 bytes takes neither thing's cheapest, nor the best of each for half of them.
  std::vector<std::vector<variant>> const things{{{100, 1, 0}, {60, 7, 0}, {50, 9, 0}},
                                                 {{80, 1, 0}, {70, 3, 0}, {10, 10, 0}}};
  HOLDS(choose(things, 10) == choice{.of = {1, 1}, .what = {130, 10, 0}});
  HOLDS(choose(things, 11) == choice{.of = {0, 2}, .what = {110, 11, 0}});
  HOLDS(choose(things, 19).of == std::vector<int>{2, 2}
        && choose(things, 1000).of == std::vector<int>{2, 2});
  HOLDS(choose(things, 2).of == std::vector<int>{0, 0});
  choice const none = choose(things, -3);
  HOLDS(none.of.empty() && none.missing == 5);
  // Penalties decide where times do not.
  HOLDS(choose({{{10, 4, 0}, {10, 2, 3}, {10, 1, 9}}}, 3).of == std::vector<int>{1});
  HOLDS(choose({}, 0) == choice{});
  return true;
}
BOTH_TIMES("a choice is the cheapest within the memory", test_cheapest_choice)

TEST_CASE("a thing without variants is refused") { CHECK_BREAKS(counts_are_positive, choose({{}}, 1)); }

}  // namespace
