#include <ashlar/search/successive_halving.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/check.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

using namespace shapes;

namespace {

TEST_CASE("how many searches share a budget") {
  CHECK((search_count(0, 1, false) == 1 && search_count(4'999, 1, true) == 1));
  CHECK((search_count(5'000, 1, false) == 2 && search_count(4'999 * 90, 90, false) == 1));
  CHECK((search_count(10'000, 1, true) == 4 && search_count(1'000'000'000, 1, false) == 4));
  // Half a million passes are less than 1,250 schedules that are that long.
  CHECK((search_count(40'000'000, 500'000, true) == 4 && search_count(40'000'000, 500'000, false) == 1));
  CHECK(search_count(19'999'999, 500'000, true) == 1);
  std::size_t sum = 0;
  one_after_the_other(4, [&](std::size_t i) { sum = 10 * sum + i; });
  CHECK(sum == 123);
}

TEST_CASE("seeds that come of one differ") {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    for (std::uint64_t which = 0; which < 80; ++which) seen.insert(seed_of(seed, which));
  CHECK(seen.size() == 640);
}

// Runs the last task first.
struct backwards {
  std::vector<std::size_t>* asked;

  template <class F>
  void operator()(std::size_t n, F&& f) const {
    asked->push_back(n);
    for (std::size_t i = n; i-- > 0;) f(i);
  }
};

TEST_CASE("successive halving: the result does not depend on the order of tasks; the budget is kept") {
  schedule const s = uneven_v(3, 5, 3);  // 90 passes
  memory_limit const limit = chunk_activations(3);
  std::vector<std::size_t> asked;
  int other = 0, better = 0;
  for (std::uint64_t seed : {1U, 2U, 3U}) {
    search_budget const e{.passes = 1'000'000, .seed = seed, .aim = objective::span};
    auto one = successive_halving(s, {s}, limit, e, unwatched, one_after_the_other);
    auto two = successive_halving(s, {s}, limit, e, unwatched, backwards{&asked});
    schedule const found = one.first.engine().result();
    CHECK(found == two.first.engine().result());
    CHECK(one.passes == two.passes);
    CHECK(one.passes >= 1'000'000);
    CHECK(one.passes < 1'150'000);
    CHECK(check(found).ok());
    CHECK(is_within(found, limit));
    search_budget little = e;
    little.passes = 20'000;  // enough for one search only
    auto alone = successive_halving(s, {s}, limit, little, unwatched, backwards{nullptr});
    CHECK(one.first.reached() <= alone.first.reached());
    better += one.first.reached() < alone.first.reached() ? 1 : 0;
    auto next = successive_halving(s, {s}, limit,
                                   {.passes = 1'000'000, .seed = seed + 3, .aim = objective::span},
                                   unwatched, one_after_the_other);
    other += next.first.engine().result() != found ? 1 : 0;
  }
  CHECK(asked == std::vector<std::size_t>(15, 4));  // a start and four rounds, of each seed
  CHECK(better > 0);
  CHECK(other > 0);  // the seed counts
}

TEST_CASE("the least memory: no device has room for a forward more") {
  schedule const s = uneven_v(3, 5, 3);  // two stages a device
  CHECK(has_least_memory(s, chunk_activations(2)));
  CHECK(!has_least_memory(s, chunk_activations(3)));
  CHECK(!has_least_memory(s, chunk_activations({2, 2, 3})));
  memory_limit sized = chunk_activations({20, 21, 22});
  sized.memory.stages.assign(6, {.stash = 10});
  CHECK(has_least_memory(s, sized));
  sized.memory.stages[2].stash = sized.memory.stages[3].stash = 1;  // both on the last device
  CHECK(!has_least_memory(s, sized));
}

TEST_CASE("a problem that the first search solves needs no others") {
  schedule const s = uneven_v(3, 5, 3);
  search_budget e{.passes = 1'000'000, .aim = objective::span};
  e.goal = span(s);
  auto const r = successive_halving(s, {s}, chunk_activations(99), e, unwatched, backwards{nullptr});
  CHECK(r.passes < 10'000);
  CHECK(r.first.engine().is_solved());
}

TEST_CASE("a search resumes from its best schedule and never gets worse") {
  schedule const s = uneven_v(3, 5, 3);
  seeded_search r(s, chunk_activations(3), {.passes = 20'000, .aim = objective::span}, unwatched);
  r.start({s});
  for (std::uint64_t seed = 1; seed < 12; ++seed) {
    objective_value const before = r.reached();
    std::int64_t const spent = r.engine().spent();
    r.resume(3'000, seed);
    CHECK(r.reached() <= before);
    CHECK(r.engine().spent() >= spent + 3'000);
    CHECK(r.engine().spent() < spent + 3'000 + 9 * r.engine().size());
  }
}

}  // namespace
