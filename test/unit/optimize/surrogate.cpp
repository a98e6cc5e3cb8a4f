#include <ashlar/optimize/surrogate.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/search/seeds.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

using namespace shapes;

namespace {

TEST_CASE("what is periodic needs not be made at full size") {
  // 1F1B with fused backwards and no transfers: what p more micro-batches take does not change.
  schedule const s = one_f_one_b(2, 12);
  search_budget const e{.passes = 100'000, .aim = objective::makespan};
  justifier search(s, chunk_activations(2), e);
  surrogate estimate(search, chunk_activations(2), e);
  std::int64_t const size_of_three = 2 * 2 * 6;
  candidate k{{delay_block(1, 3)}, justification_options{}};  // g++ 12 evaluates no const one
  objective_value const got = estimate(k);
  CHECK(got.first == makespan(s));
  CHECK((search.spent() == 3 * size_of_three && !search.found()));
  full_evaluation evaluate(search);
  CHECK(evaluate(k).first == got.first);
}

TEST_CASE("estimate, it is as long as expected") {
  schedule const s = one_f_one_b(2, 12);
  search_budget const e{.passes = 100'000, .aim = objective::makespan};
  justifier search(s, chunk_activations(2), e);
  surrogate estimate(search, chunk_activations(2), e);
  estimate.extend({{delay_block(1, 3)}, justification_options{}});
  REQUIRE(search.found());
  CHECK(search.judge(search.best()).first == makespan(s));
  CHECK(check(search.result()).ok());
}

// Whether the expectation of the best block comes true up to `allowed` percent, within the limit.
void hill_climbs(schedule const& s, int limit, tick allowed) {
  search_budget const e{.passes = 400'000, .aim = objective::span};
  justifier search(s, chunk_activations(limit), e);
  surrogate estimate(search, chunk_activations(limit), e);
  std::vector<candidate> tops;
  hill_climb(search, chunk_activations(limit), estimate, 30, tops);
  REQUIRE(!tops.empty());
  CHECK(!search.found());  // for a small budget each: none is made at full size
  estimate.extend(tops[0]);
  REQUIRE(search.found());
  CHECK(check(search.result()).ok());
  CHECK(is_within(search.result(), chunk_activations(limit)));
  tick const reached = search.judge(search.best()).first;
  CHECK(100 * std::abs(reached - tops[0].reached.first) < allowed * reached);
}

TEST_CASE("a longer schedule climbs by the surrogate") { hill_climbs(uneven_v(2, 40, 1), 4, 2); }

// The extension is by whole sequences: their chunks still go back in reverse.
TEST_CASE("sequences in chunks climb by the surrogate, too") {
  hill_climbs(one_after_another(linear(devices{3}), micro_batches{20}, costs(stage_cost{5, 7, 4}, 1), 2),
              6, 5);
}

}  // namespace
