// The search on workloads whose best is known: a small budget comes near, and to the proved bound where
// that is reached quickly.
#include "known_bubbles.hpp"
#include "random_cases.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/search/search.hpp>
#include <ashlar/search/seeds.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace ashlar;

namespace {

search_result search_known(known_bubbles::known const& k, std::int64_t passes) {
  return search({.where = k.where(),
                 .m = micro_batches{k.m},
                 .cost = k.all_costs(),
                 .limit = chunk_activations(k.limit)},
                {.passes = passes, .aim = objective::span});
}

// The effort is larger where less comes nowhere near.
std::int64_t little_effort(known_bubbles::known const& k) {
  bool const is_hard = k.p == 16 && (k.limit == 16 || (k.cost[0] == 100 && k.limit == 32));
  return is_hard ? 9'000'000 : 3'000'000;
}

TEST_CASE("a small budget comes within a tenth and a thousandth of the least known bubble") {
  std::vector<known_bubbles::known> const all = listed_cases(
      std::vector<known_bubbles::known>(known_bubbles::table.begin(), known_bubbles::table.end()));
  int proved = 0, known_or_better = 0, better_than_public = 0;
  for (known_bubbles::known const& k : all) {
    CAPTURE(k.p);
    CAPTURE(k.m);
    CAPTURE(k.limit);
    CAPTURE(k.cost[0]);
    search_result const r = search_known(k, little_effort(k));
    double const rate = k.rate(r.reached);
    CAPTURE(rate);
    CHECK(check(r.best).ok());
    CHECK(is_within(r.best, chunk_activations(k.limit)));
    CHECK(r.reached == span(r.best));
    CHECK(r.reached >= r.least.span);
    CHECK(rate >= k.least - known_bubbles::rounding);
    CHECK(rate <= 1.1 * k.reached + .001);
    proved += r.reached == r.least.span ? 1 : 0;
    known_or_better += rate <= k.reached + known_bubbles::rounding ? 1 : 0;
    better_than_public += rate < k.published - known_bubbles::rounding ? 1 : 0;
  }
  MESSAGE(proved << " proved, " << known_or_better << " as good as known, " << better_than_public
                 << " better than public schedulers, of " << all.size());
  if (all.size() < known_bubbles::table.size()) return;
  CHECK(proved >= 9);
  CHECK(known_or_better >= 15);
  CHECK(better_than_public >= 25);
}

// The bound is reached exactly, and that ends the search.
TEST_CASE("proved optimal schedules") {
  int met = 0;
  for (known_bubbles::known const& k : known_bubbles::table) {
    bool const small = k.p == 4 && (k.limit == 6 || k.limit == 7);
    bool const unit = k.cost[0] == 1 && (k.limit == 8 || k.limit == 16);
    bool const long_weights = k.p == 8 && k.cost[0] == 100 && (k.limit == 10 || k.limit == 14);
    if (!small && !unit && !long_weights) continue;
    CAPTURE(k.p);
    CAPTURE(k.limit);
    search_result const r = search_known(k, 20'000'000);
    CHECK(r.reached == r.least.span);
    CHECK(r.passes < 20'000'000);
    ++met;
  }
  CHECK(met == 6);
}

// The catalog's own schedules of these placements are no match under half of V-ZB's memory.
TEST_CASE("better than all of the catalog that fits") {
  for (known_bubbles::known const& k : known_bubbles::table) {
    if (k.p != 8 || k.chunks_of_a_device != 2 || k.limit >= 16) continue;
    tick const found = search_known(k, 200'000).reached;
    for (published_schedule const& s :
         published_on(k.where(), micro_batches{k.m}, k.all_costs(), 1, searched_entries::left_out)) {
      CAPTURE(k.limit);
      CAPTURE(s.entry->name);
      if (is_within(s.made, chunk_activations(k.limit))) CHECK(found < span(s.made));
    }
  }
}

}  // namespace
