#include <ashlar/search/layouts.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/check.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <utility>
#include <vector>

using namespace shapes;

namespace {

layout_choice some_layout(int chunk_count) {
  return {.chunk_count = chunk_count,
          .unit = chunk_count,
          .problem = {.where = linear(devices{1}),
                      .m = micro_batches{1},
                      .cost = {},
                      .limit = chunk_activations(1)}};
}
std::vector<layout_choice> some_layouts(int count) {
  std::vector<layout_choice> all;
  for (int i = 0; i < count; ++i) all.push_back(some_layout(i + 1));
  return all;
}

// Layout i reaches 100 - i in ticks of the model, and is bounded by `least`[i].
struct pretended {
  std::vector<double>* shares;
  std::vector<int>* layouts;
  std::vector<tick> least;

  constexpr search_result operator()(layout_choice const& c, double share, int round) const {
    int const i = c.chunk_count - 1;
    shares->push_back(share);
    layouts->push_back(i);
    search_result r;
    r.reached = (100 - i) * c.unit - round;
    r.least.span = least[static_cast<std::size_t>(i)] * c.unit;
    r.passes = 10;
    r.evaluations = 1;
    return r;
  }
};

TEST_CASE("the better half of the layouts, and again") {
  std::vector<double> shares;
  std::vector<int> asked;
  pretended const search_one{&shares, &asked, {10, 10, 10, 10, 10}};
  std::vector<searched_layout> const all = search_layouts(some_layouts(5), objective::span, search_one);
  CHECK(asked == std::vector<int>{0, 1, 2, 3, 4, 4, 3, 2, 4, 3, 4});  // 5, 3, 2, 1
  double sum = 0;
  for (double share : shares) sum += share;
  CHECK((sum > 0.999 && sum < 1.001 && shares.back() == 0.5));
  CHECK((best_of(all) == 4 && all[4].result.evaluations == 4 && all[4].result.passes == 40));
  CHECK((all[4].result.reached == 96 * 5 - 3 && all[0].result.evaluations == 1));
  CHECK((all[4].in_ticks(10) == 2 && all[4].least() == 50 && !all[4].is_optimal()));
}

TEST_CASE("one layout gets all") {
  std::vector<double> shares;
  std::vector<int> asked;
  pretended const search_one{&shares, &asked, {100}};
  std::vector<searched_layout> const all = search_layouts(some_layouts(1), objective::span, search_one);
  CHECK((shares == std::vector<double>{1} && all.size() == 1 && all[0].is_optimal()));
}

// Layout 3 cannot come below 97, which layout 4 has; layout 2 may come to less, and is alone then.
TEST_CASE("what its bound says cannot win gets no more") {
  std::vector<double> shares;
  std::vector<int> asked;
  pretended const search_one{&shares, &asked, {99, 99, 10, 97, 96}};
  std::vector<searched_layout> const all = search_layouts(some_layouts(5), objective::span, search_one);
  CHECK(asked == std::vector<int>{0, 1, 2, 3, 4, 2});
  CHECK((shares.back() > 0.83 && shares.back() < 0.84));  // all but the first round's
  CHECK((best_of(all) == 4 && all[4].is_optimal()));
  asked.clear();
  pretended const nothing_left{&shares, &asked, {99, 99, 98, 97, 96}};
  search_layouts(some_layouts(5), objective::span, nothing_left);
  CHECK(asked.size() == 5);
}

// Half a tick of the model is one of the second layout's ticks, a third one of the third's.
TEST_CASE("the best of several layouts is optimal only if no layout has a lower bound") {
  auto const searched = [](int unit, tick reached, tick least) {
    searched_layout s{.choice = some_layout(unit), .result = {}};
    s.result.reached = reached;
    s.result.least.span = least;
    return s;
  };
  std::vector<searched_layout> all = {searched(1, 12, 8), searched(2, 20, 20), searched(3, 31, 27)};
  proved_layouts p = proved_of(all);
  CHECK((p.best == 1 && all[1].is_optimal() && !p.is_optimal));
  CHECK((p.least == 16 && p.gap == 0.25));
  all[0].result.least.span = 12;
  p = proved_of(all);
  CHECK((p.least == 18 && !p.is_optimal));
  all[2].result.least.span = 29;
  p = proved_of(all);
  CHECK((p.least == 19 && !p.is_optimal));  // 19 1/3, rounded down
  CHECK(p.gap == gap(10.0, 29.0 / 3));
  all[2].result.least.span = 30;
  p = proved_of(all);
  CHECK((p.best == 1 && p.least == 20 && p.gap == 0 && p.is_optimal));
}

// These are one as floating-point numbers.
TEST_CASE("lengths of layouts are compared without rounding") {
  std::vector<searched_layout> all;
  tick const large = tick{1} << 60;
  for (tick const reached : {large + 1, large, large - 1}) {
    all.push_back({.choice = some_layout(1), .result = {}});
    all.back().result.reached = reached;
    all.back().result.least.span = large - 2;
  }
  CHECK((best_of(all) == 2 && !proved_of(all).is_optimal));
}

TEST_CASE("what is recomputed is not the model's own work") {
  schedule s = recompute(one_f_one_b(1, 4), {0});
  searched_layout found{.choice = some_layout(1), .result = {.best = s, .reached = 16}};
  CHECK((makespan(s) == 16 && found.overhead() == 0.25 && found.overhead_of(24) == 0.5));
  CHECK(found.overhead_of(0) == 0);
}

// Layouts that cannot win take from nobody: the others get what they had gone on with.
TEST_CASE("more choices that cannot win take nothing from those that can") {
  std::vector<double> shares, more_shares;
  std::vector<int> asked;
  search_layouts(some_layouts(2), objective::span, pretended{&shares, &asked, {10, 10}});
  std::vector<tick> least(8, 98);
  least[0] = least[1] = 10;
  auto const all =
      search_layouts(some_layouts(8), objective::span, pretended{&more_shares, &asked, least});
  CHECK((shares.back() == 0.5 && more_shares.back() > 0.5 && best_of(all) == 7));
  CHECK((more_shares.size() == 9 && all[1].result.evaluations == 2));  // one of two, then it is alone
}

// With half of 1F1B's memory, a search that may recompute and cut is no longer than one that may not.
TEST_CASE("a model's best layout") {
  model_share const model{devices{4}, micro_batches{8}, costs({20, 26, 14}, 1)};
  search_budget const e{.passes = 2'000'000, .aim = objective::span};
  auto const plain = search_layouts(layouts_for(model, 50), e);
  auto const varied = search_layouts(layouts_for(model, 50, {{6}, 2}), e);
  CHECK(plain.size() == 5);
  CHECK(varied.size() == 2 * (2 + 3 + 3 + 5 + 5) + 3);
  for (auto const* all : {&plain, &varied}) {
    std::int64_t spent = 0;
    for (searched_layout const& s : *all) {
      CHECK(check(s.result.best).ok());
      CHECK(is_within(s.result.best, s.choice.problem.limit));
      CHECK(s.result.reached >= s.least());
      spent += s.result.passes;
    }
    CHECK(spent > 200'000);
    CHECK(spent < 3'000'000);
  }
  searched_layout const &a = plain[best_of(plain)], &b = varied[best_of(varied)];
  CHECK(b.in_ticks(b.result.reached) < a.in_ticks(a.result.reached));
  CHECK(b.choice.sequence_chunks == 2);
}

}  // namespace
