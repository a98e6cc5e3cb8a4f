#include <ashlar/optimize/iterated_local_search.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/check.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace shapes;

namespace {

TEST_CASE("local search until the budget is spent") {
  schedule const s =
      catalog::zb_h1(devices{2}) | repeat(micro_batches{2}) | retime(costs(stage_cost{3, 4, 2}, 2));
  justifier search(s, chunk_activations(2), {.passes = 400});
  iterated_local_search(search);
  CHECK((!search.found() && search.spent() == 0));  // nothing to perturb
  search.consider(s);
  list_scheduler::solution const last =
      iterated_local_search(search, [&](list_scheduler::solution const& t) { return search.judge(t); });
  CHECK((search.spent() >= 400 && search.spent() < 400 + 5 * 12));
  CHECK(search.judge(search.best()) <= search.judge(last));
  CHECK((makespan(search.result()) <= makespan(s) && check(search.result()).ok()));
}

TEST_CASE("iterated local search finds better ones within the limit, again for the same seed") {
  int better = 0;
  for (int p : {2, 3, 4})
    for (std::uint64_t seed : {1U, 2U, 3U}) {
      schedule const s = uneven_v(p, 6, 3);
      search_budget const e{.passes = 60'000, .seed = seed, .aim = objective::span};
      justifier search(s, chunk_activations(p + 1), e), again(s, chunk_activations(p + 1), e);
      for (justifier* i : {&search, &again}) {
        i->justify(i->passes().orders, {{96}, {}, {}});
        REQUIRE(i->found());
        iterated_local_search(*i);
      }
      justifier first(s, chunk_activations(p + 1), e);
      first.justify(first.passes().orders, {{96}, {}, {}});
      CHECK(search.judge(search.best()) <= first.judge(first.best()));
      better += search.judge(search.best()) < first.judge(first.best()) ? 1 : 0;
      CHECK(search.result() == again.result());
      CHECK(check(search.result()).ok());
      CHECK(is_within(search.result(), chunk_activations(p + 1)));
    }
  CHECK(better > 5);
}

TEST_CASE("a long schedule is perturbed, too, and what goes well repeated") {
  schedule const s = uneven_v(2, 20, 3);
  for (std::uint64_t seed : {1U, 2U, 3U}) {
    justifier search(s, chunk_activations(3), {.passes = 200'000, .seed = seed, .aim = objective::span});
    search.justify(search.passes().orders, {{96}, {}, {}});
    REQUIRE(search.found());
    objective_value const first = search.judge(search.best());
    iterated_local_search(search);
    CHECK(search.judge(search.best()) < first);
    CHECK(check(search.result()).ok());
    CHECK(is_within(search.result(), chunk_activations(3)));
  }
}

// It goes on from schedules that the rate prefers, and returns the best by that rate.
TEST_CASE("another rate") {
  schedule const s = uneven_v(3, 4, 3);
  justifier search(s, chunk_activations(6), {.passes = 40'000});
  search.consider(s);
  auto const begins_late = [](list_scheduler::solution const& t) {
    return objective_value{-t.start[static_cast<std::size_t>(t.orders[2].front())], 0};
  };
  std::vector<objective_value> rated;
  list_scheduler::solution const last =
      iterated_local_search(search, [&](list_scheduler::solution const& t) {
        rated.push_back(begins_late(t));
        return rated.back();
      });
  CHECK(rated.size() > 100);
  CHECK(rated.front() > begins_late(last));
  CHECK(begins_late(last) == *std::min_element(rated.begin(), rated.end()));
}

}  // namespace
