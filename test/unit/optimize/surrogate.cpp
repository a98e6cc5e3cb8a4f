#include <ashlar/optimize/surrogate.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/search/seeds.hpp>

#include <cstdint>
#include <cstdlib>
#include <vector>

using namespace shapes;

namespace {

constexpr bool test_extension() {
  // 1F1B with fused backwards and no transfers: what p more micro-batches take does not change.
  schedule const s = one_f_one_b(2, 12);
  effort const e{.passes = 100'000, .aim = objective::makespan};
  improver<> search(s, 2, e);
  by_extension extended(search, 2, e);
  std::int64_t const size_of_three = 2 * 2 * 6;
  kernel k{{continuous_block(1, 3)}, style{}};  // g++ 12 evaluates no const one
  score const got = extended(k);
  HOLDS(got.first == makespan(s));
  HOLDS(search.spent() == 3 * size_of_three && !search.found());
  at_full_size evaluate(search);
  HOLDS(evaluate(k).first == got.first);
  return true;
}
BOTH_TIMES("what is periodic needs not be made at full size", test_extension)

TEST_CASE("extended, it is as long as expected") {
  schedule const s = one_f_one_b(2, 12);
  effort const e{.passes = 100'000, .aim = objective::makespan};
  improver<> search(s, 2, e);
  by_extension extended(search, 2, e);
  extended.extend({{continuous_block(1, 3)}, style{}});
  REQUIRE(search.found());
  CHECK(search.judge(search.best()).first == makespan(s));
  CHECK(check(search.result()).ok());
}

// Whether what was expected of the best block comes true up to `allowed` percent, within the limit.
void climbs(schedule const& s, int limit, tick allowed) {
  effort const e{.passes = 400'000, .aim = objective::span};
  improver<> search(s, limit, e);
  by_extension extended(search, limit, e);
  std::vector<kernel> tops;
  climb(search, limit, extended, 30, tops);
  REQUIRE(!tops.empty());
  CHECK(!search.found());  // for little effort each: none is made at full size
  extended.extend(tops[0]);
  REQUIRE(search.found());
  CHECK(check(search.result()).ok());
  CHECK(is_within(search.result(), limit));
  tick const reached = search.judge(search.best()).first;
  CHECK(100 * std::abs(reached - tops[0].reached.first) < allowed * reached);
}

TEST_CASE("a longer schedule climbs by extension") { climbs(uneven_v(2, 40, 1), 4, 2); }

// Stretched by whole sequences: their chunks still go back in reverse.
TEST_CASE("sequences in chunks climb by extension, too") {
  climbs(one_after_another(linear(devices{3}), micro_batches{20}, costs(stage_cost{5, 7, 4}, 1), 2), 6,
         5);
}

}  // namespace
