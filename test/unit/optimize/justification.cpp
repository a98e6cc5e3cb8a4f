#include <ashlar/optimize/justification.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/optimize/improve.hpp>
#include <ashlar/optimize/iterated_local_search.hpp>
#include <ashlar/schedule/check.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace shapes;

namespace {

// ZB-H1 with a warm-up that transfers make worth improving.
schedule uneven(int p, int m) {
  return catalog::zb_h1(devices{p}) | repeat(micro_batches{m}) | retime(costs(stage_cost{3, 4, 2}, 2));
}

TEST_CASE("dice that fall alike for a seed") {
  schedule const s = one_f_one_b(2, 2);
  justifier a(s, chunk_activations(2), {.passes = 1, .seed = 7}),
      b(s, chunk_activations(2), {.passes = 1, .seed = 7}),
      other(s, chunk_activations(2), {.passes = 1, .seed = 8});
  int same = 0;
  for (int i = 0; i < 64; ++i) {
    std::size_t const thrown = a.random(1000);
    CHECK((thrown < 1000 && thrown == b.random(1000)));
    same += thrown == other.random(1000) ? 1 : 0;
    tick const between = a.random(-2, 2);
    CHECK((between >= -2 && between <= 2 && between == b.random(-2, 2)));
  }
  CHECK(same < 8);
  // The generator is Knuth's MMIX, of which the upper 31 bits are used: the same on every machine.
  justifier c(s, chunk_activations(2), {.passes = 1, .seed = 1});
  std::uint64_t const next = 6364136223846793005U + 1442695040888963407U;
  CHECK(c.random(1000) == (next >> 33U) % 1000);
}

TEST_CASE("justifying gives the best that was met, and costs its passes") {
  schedule const s = uneven(3, 4);
  justifier search(s, chunk_activations(3), {.passes = 10'000});
  std::int64_t const size = 3 * 3 * 4;  // passes
  CHECK((search.size() == size && search.spent() == 0 && !search.found()));
  objective_value const least = search.justify(search.passes().orders, {});
  CHECK((search.found() && search.spent() == 3 * size));  // forward, reversed, forward
  CHECK(least <= objective_value{makespan(s) + 3 * span(s), 0});
  schedule const r = search.result();
  CHECK(
      (least == objective_value{makespan(r) + 3 * span(r), 0} && least == search.judge(search.best())));
  CHECK(least == search.judge(search.reached()));
  CHECK((check(r).ok() && is_within(r, chunk_activations(3))));

  objective_value const free =
      search.justify(search.passes().orders, {{4, 50}, {4, 50}, {4, 50}, true, 2});
  CHECK((search.spent() <= 8 * size && search.spent() >= 6 * size));
  CHECK(search.judge(search.best()) == (free < least ? free : least));
}

// It goes step by step as the list scheduler does.
TEST_CASE("skewed, devices end as far apart as they began") {
  schedule const s =
      catalog::v_half(devices{2}) | repeat(micro_batches{2}) | retime(costs(stage_cost{3, 4, 2}));
  memory_limit const limit = chunk_activations(4);
  dispatch_rule const rule{.window = 4, .tolerance = 50};
  list_scheduler by_hand(s, limit);
  auto const spans = [&](bool skewed) {
    list_scheduler::solution t, back;
    if (!by_hand.run(by_hand.passes().orders, rule, {}, t)) return tick{-1};
    tick least = t.span, latest = 0;
    std::vector<tick> released;
    for (std::vector<int> const& order : t.orders)
      latest = std::max(latest, t.start[static_cast<std::size_t>(order[0])]);
    for (std::vector<int> const& order : t.orders)
      released.push_back(skewed ? latest - t.start[static_cast<std::size_t>(order[0])] : 0);
    if (!by_hand.run_reversed(t.orders, rule, released, back)) return tick{-1};
    least = std::min(least, back.span);
    if (!by_hand.run(back.orders, rule, {}, t)) return tick{-1};
    return std::min(least, t.span);
  };
  for (bool skewed : {false, true}) {
    justifier search(s, limit, {.passes = 1000, .aim = objective::span});
    CHECK(search.justify(search.passes().orders, {rule, rule, rule, skewed, 1}).first == spans(skewed));
  }
  CHECK(spans(true) < spans(false));
}

TEST_CASE("what begins without hope is not justified") {
  schedule const s = uneven(3, 4);
  justifier search(s, chunk_activations(3), {.passes = 10'000});
  objective_value const first = search.justify(search.passes().orders, {}, 0);
  CHECK(search.spent() == search.size());  // dispatched once
  CHECK((search.found() && first == search.judge(search.best())
         && first == search.judge(search.reached())));
  CHECK(search.justify(search.passes().orders, {}, first.first) <= first);
  CHECK(search.spent() == 4 * search.size());
}

TEST_CASE("orders that get stuck leave nothing") {
  schedule const s = catalog::gpipe(devices{2}, micro_batches{3}) | repeat(micro_batches{3}) | squeeze();
  justifier search(s, chunk_activations(1), {.passes = 1000});
  CHECK(search.justify(search.passes().orders, {}) == objective_value{});  // it holds three
  CHECK((!search.found() && search.spent() == 12));
  CHECK(search.justify(search.passes().orders, {{8}, {}, {}}) < objective_value{});
  CHECK((search.found() && is_within(search.result(), chunk_activations(1))));
}

// Two schedules: the span of one is shorter, the makespan of the other.
TEST_CASE("what the objectives count") {
  schedule const s = one_f_one_b(2, 2);  // 0: F F . B . B B, spans and makespan of 9
  list_scheduler::solution quick{.orders = {}, .start = {}, .makespan = 10, .span = 9},
      narrow{.orders = {}, .start = {}, .makespan = 12, .span = 7};
  auto const judged = [&](objective aim, list_scheduler::solution const& t) {
    return justifier(s, chunk_activations(2), {.passes = 1, .aim = aim}).judge(t);
  };
  CHECK((judged(objective::span, quick) == objective_value{9, 10}
         && judged(objective::span, narrow) == objective_value{7, 12}));
  CHECK(judged(objective::makespan, narrow) == objective_value{12, 7});
  CHECK(judged(objective::program, quick) == objective_value{10, 9});
  CHECK((judged(objective::both, quick) == objective_value{37, 0}
         && judged(objective::both, narrow) == objective_value{33, 0}));
}

TEST_CASE("a schedule as it is, unless there is a better one") {
  schedule const s = uneven(2, 3), late = shift(s, 5);
  justifier search(s, chunk_activations(9), {.passes = 100, .aim = objective::makespan});
  search.consider(late);
  CHECK((search.found() && search.spent() == 0 && search.result() == s));  // begins at 0
  CHECK((search.best().makespan == makespan(s) && search.best().span == span(s)));
  schedule longer = s;
  for (time_slot& t : longer.order[0]) t.start += t.what.kind == W ? 7 : 0;
  search.consider(longer);
  CHECK(search.result() == s);
  CHECK(search.justify(search.passes().orders, {}) >= search.judge(search.best()));
}

TEST_CASE("over when the budget is spent or the goal reached") {
  schedule const s = uneven(2, 2);
  justifier search(s, chunk_activations(9), {.passes = 100, .aim = objective::makespan});
  CHECK(!search.is_over());
  search.spend(49);
  CHECK(!search.is_over(50));
  search.spend(1);
  CHECK((search.is_over(50) && !search.is_over()));
  search.spend(50);
  CHECK(search.is_over());
  justifier reaching(s, chunk_activations(9),
                     {.passes = 100, .aim = objective::makespan, .goal = makespan(s)});
  CHECK(!reaching.is_over());
  reaching.consider(s);
  CHECK(reaching.is_over());
}

TEST_CASE("a watch sees the best and what was spent, and ends the search") {
  std::vector<std::int64_t> seen;
  schedule const s = uneven(3, 5);
  std::int64_t sum = 0;
  auto const watch = [&](list_scheduler::solution const&, std::int64_t newly_spent) {
    seen.push_back(newly_spent);
    sum += newly_spent;
    return sum < 1'000;
  };
  justifier search(s, chunk_activations(3), {.passes = 1'000'000}, watch);
  search.consider(s);
  iterated_local_search(search);
  CHECK(search.spent() >= 1'000);
  CHECK(search.spent() < 1'000 + 9 * search.size());
  CHECK(sum == search.spent());
  CHECK(*std::min_element(seen.begin(), seen.end()) >= 0);
  CHECK(seen.size() > 5);
}

TEST_CASE("never worse than what was considered, within the limit, the same for a seed and a budget") {
  int better = 0, other = 0;
  for (objective aim : {objective::span, objective::makespan, objective::both})
    for (int p : {2, 3, 4})
      for (std::uint64_t seed : {1U, 2U}) {
        schedule const s = uneven(p, 7);
        search_budget const e{.passes = 30'000, .seed = seed, .aim = aim};
        justifier search(s, chunk_activations(p), e), again(s, chunk_activations(p), e),
            next(s, chunk_activations(p), {.passes = 30'000, .seed = 9, .aim = aim});
        for (justifier* i : {&search, &again, &next}) i->consider(s);
        objective_value before = search.judge(search.best());
        objective_value const first = before;
        while (!search.is_over()) {
          justification_options const how = any_justification(search, 2);
          objective_value const got = search.justify(search.best().orders, how);
          objective_value const now = search.judge(search.best());
          CHECK(now == (got < before ? got : before));
          before = now;
          again.justify(again.best().orders, any_justification(again, 2));
          next.justify(next.best().orders, any_justification(next, 2));
        }
        better += before < first ? 1 : 0;
        other += search.result() != next.result() ? 1 : 0;
        CHECK(search.result() == again.result());
        CHECK(search.spent() == again.spent());
        CHECK(check(search.result()).ok());
        CHECK(is_within(search.result(), chunk_activations(p)));
        CHECK(search.spent() < 30'000 + 5 * search.size());
      }
  CHECK(better > 4);
  CHECK(other > 0);  // the seed counts
}

}  // namespace
