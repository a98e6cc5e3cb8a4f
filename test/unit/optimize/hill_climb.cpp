#include <ashlar/optimize/hill_climb.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/search/search.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace shapes;

namespace {

TEST_CASE("a candidate counts what its schedule does") {
  schedule const s = uneven_v(2, 3, 1);
  justifier search(s, chunk_activations(4), {.passes = 10'000, .aim = objective::makespan});
  full_evaluation evaluate(search);
  objective_value const got = evaluate({{one_at_a_time(s)}, justification_options{}});
  CHECK((search.found() && search.spent() == 3 * search.size()));
  CHECK(got == search.judge(search.reached()));
  CHECK((check(search.result()).ok() && is_within(search.result(), chunk_activations(2))));
}

TEST_CASE("hill climbs start from the shapes of V-ZB, V-Half and V-Min") {
  schedule const s = uneven_v(2, 3, 1);  // a device works 60 for a micro-batch
  justifier search(s, chunk_activations(4), {.passes = 10'000});
  delay_block const zb = start_of_hill_climb(search, chunk_activations(4), 0),
                    half = start_of_hill_climb(search, chunk_activations(4), 4),
                    least = start_of_hill_climb(search, chunk_activations(4), 2);
  CHECK((zb.period == 60 && half.period == 60 && least.period == 60));
  CHECK((zb.forward_hop == std::vector<tick>{30, 10} && zb.backward_hop == zb.forward_hop));
  CHECK((half.forward_hop == std::vector<tick>{10, 3} && least.forward_hop == std::vector<tick>{0, 0}));
  // Two activations a device: so far apart that no more is held on average.
  delay_block const apart = start_of_hill_climb(search, chunk_activations(2), 5),
                    roomy = start_of_hill_climb(search, chunk_activations(20), 5);
  CHECK((apart.period > 60 && roomy.period == 60));
  CHECK(start_of_hill_climb(search, chunk_activations(0), 1).period == 60);  // nothing to divide by
}

TEST_CASE("neighbours stay blocks") {
  schedule const s = uneven_v(3, 4, 1);
  justifier search(s, chunk_activations(4), {.passes = 10'000});
  tick const work = work_of_one(s);
  candidate k{{start_of_hill_climb(search, chunk_activations(4), 0)}, justification_options{}};
  std::size_t most = 0;
  int other_blocks = 0, other_styles = 0;
  for (int i = 0; i < 2'000; ++i) {
    candidate next = neighbour(search, k, work);
    REQUIRE(!next.tracks.empty());
    REQUIRE(next.tracks.size() <= 3);
    most = std::max(most, next.tracks.size());
    int changed = 0;
    for (std::size_t t = 0; t < next.tracks.size(); ++t)
      for (std::size_t n = 0; n < next.tracks[t].size(); ++n) {
        tick const now = next.tracks[t][n];
        REQUIRE(now >= (n == 0 ? work : 0));
        if (t < k.tracks.size() && now != k.tracks[t][n]) {
          ++changed;
          CHECK(std::abs(now - k.tracks[t][n]) <= 2 * (work * 3 / 20));
        }
      }
    CHECK(changed <= 2);
    other_blocks += changed > 0 ? 1 : 0;
    other_styles += next.how.rounds != k.how.rounds || next.how.skewed != k.how.skewed ? 1 : 0;
    k = next;
  }
  CHECK(most == 3);
  CHECK(other_blocks > 500);
  CHECK(other_styles > 100);
}

TEST_CASE("a hill climb stops at its share, gets better, and its tops are the best first") {
  for (auto [p, m] : {std::pair{2, 5}, {3, 4}, {4, 8}}) {
    schedule const s = uneven_v(p, m, 1);
    memory_limit const limit = chunk_activations(3);
    search_budget const e{.passes = 200'000, .aim = objective::span};
    justifier search(s, limit, e);
    full_evaluation evaluate(search);
    evaluate({{one_at_a_time(s)}, justification_options{}});
    objective_value const first = search.judge(search.best());
    std::vector<candidate> tops;
    hill_climb(search, limit, evaluate, 50, tops);
    CHECK(search.spent() >= 100'000);
    CHECK(search.spent() < 100'000 + 9 * search.size());
    CHECK(search.judge(search.best()) < first);
    CHECK(check(search.result()).ok());
    CHECK(is_within(search.result(), limit));
    REQUIRE(!tops.empty());
    CHECK(tops.size() <= 12);
    for (std::size_t i = 0; i + 1 < tops.size(); ++i) CHECK(tops[i].reached < tops[i + 1].reached);
    CHECK(search.judge(search.best()) == tops[0].reached);  // nothing better was passed over
    for (candidate const& k : tops) CHECK(evaluate(k) == k.reached);
  }
}

TEST_CASE("the best dozen of many climbs are kept") {
  schedule const s = uneven_v(2, 2, 1);
  justifier search(s, chunk_activations(3), {.passes = 5'000});
  tick asked = 0;
  auto const ever_worse = [&](candidate const&) {
    search.spend(1);
    return objective_value{++asked, 0};
  };
  std::vector<candidate> tops;
  hill_climb(search, chunk_activations(3), ever_worse, 100, tops);
  REQUIRE(tops.size() == 12);  // of some fifty climbs, each over after a hundred and one
  for (std::size_t i = 0; i < tops.size(); ++i)
    CHECK(tops[i].reached.first == 1 + 101 * static_cast<tick>(i));
}

}  // namespace
