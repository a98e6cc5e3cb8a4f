// Micro-batches that take different times.
#include "cost_table.hpp"
#include "random.hpp"
#include "random_cases.hpp"
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace random_case;

namespace {

schedule random_one(dice& d) {
  block const b = random_block(d);
  return squeeze(repeat(b, random_count(d, b)));
}

costs differing(dice& d, schedule const& s) {
  costs c = s.cost;
  differ_by_micro_batch(d, c, s.micro_batch_count());
  return c;
}

TEST_CASE("micro-batches said to be alike are as if nothing was said") {
  FOR_SEEDS(200) {
    schedule const s = random_one(d);
    CAPTURE(seed);
    costs each = s.cost;
    std::vector<stage_cost> table;
    s.cost.passes.for_each(
        [&](int, int, stage_cost const& c) { table.insert(table.end(), s.route.size(), c); });
    each.passes = pass_costs::by_stage_and_micro_batch(table, s.micro_batch_count());
    schedule told = retime(s, each);
    CHECK(told.order == s.order);
    CHECK(check(told).ok());
    CHECK(busy(told) == busy(s));
    CHECK(time_program(lower(told), {.cost = each}) == time_program(lower(s), {.cost = s.cost}));
    if (auto const least = schedule_bound(told)) CHECK(least->makespan <= makespan(told));
  }
}

// The time of a pass is looked up here in the table, by itself.
TEST_CASE("passes take what their micro-batch takes, in schedules, bounds and simulations") {
  int bounded = 0;
  FOR_SEEDS(300) {
    schedule s = random_one(d);
    CAPTURE(seed);
    s.cost.on.speeds.clear();
    costs const c = differing(d, s);
    s = retime(s, c);
    CHECK(check(s).ok());
    std::vector<stage_cost> const table = entries_of(c.passes);
    std::size_t const m = s.route.size();
    std::vector<tick> const worked = busy(s);
    tick most = 0;
    for (std::size_t e = 0; e < s.order.size(); ++e) {
      tick sum = 0, own = 0;  // bounds may leave out what only some micro-batches run again
      for (timed_pass const t : each_pass(s.order[e])) {
        std::size_t const row = table.size() == m ? 0 : static_cast<std::size_t>(t.what.stage);
        tick const time = table[row * m + static_cast<std::size_t>(t.what.micro_batch)].of(t.what.kind);
        sum += time;
        own += t.what.kind == pass_kind::recompute ? 0 : time;
      }
      CHECK(worked[e] == sum);
      most = std::max(most, own);
    }
    if (auto const least = schedule_bound(s)) {
      ++bounded;
      CHECK(least->makespan <= makespan(s));
      CHECK(least->span <= span(s));
      CHECK((least->makespan >= most && least->span >= most));
    }
    costs at_once = c;
    at_once.on.links = {};
    schedule const unmoved = retime(s, at_once);
    CHECK(time_program(lower(unmoved), {.cost = at_once}).makespan == makespan(unmoved));
  }
  CHECK(bounded > 200);
}

TEST_CASE("micro-batches keep their times when schedules are put together and taken apart") {
  FOR_SEEDS(200) {
    schedule const plain = random_one(d);
    CAPTURE(seed);
    schedule const a = retime(plain, differing(d, plain)), b = retime(plain, differing(d, plain));
    micro_batches const m{a.micro_batch_count()};
    schedule const both = then(a, b);
    CHECK(check(both).ok());
    CHECK(take(both, m) == a);
    CHECK(makespan(both) == makespan(a) + makespan(b));
    schedule const one_alike = then(a, plain);
    CHECK(makespan(one_alike) == makespan(a) + makespan(plain));
    CHECK(check(squeeze(merge(a, b))).ok());
    CHECK(mirror(mirror(a)) == a);
  }
}

TEST_CASE("a block's micro-batches take their times in each repetition") {
  FOR_SEEDS(100) {
    block b = random_block(d);
    CAPTURE(seed);
    int const group = b.micro_batch_count();
    std::vector<stage_cost> table;
    b.cost.passes.for_each([&](int, int, stage_cost const& c) {
      for (int k = 0; k < group; ++k) {
        table.push_back(c);
        if (c.forward > k) table.back().forward -= k;  // so the block stays valid
      }
    });
    b.cost.passes = pass_costs::by_stage_and_micro_batch(table, group);
    int const n = d.between(1, 3), k = d.between(1, 3);
    auto const times = [&](int repetitions) { return repeat(b, micro_batches{group * repetitions}); };
    schedule const s = times(n + k);
    CHECK(s.cost.of({pass_kind::forward, 0, group * (n + k) - 1}, 0)
          == b.cost.of({pass_kind::forward, 0, group - 1}, 0));
    CHECK(s == merge(times(n), shift(times(k), n * b.interval)));
    CHECK(check(squeeze(s)).ok());
    CHECK(repeat(unroll(b, 2), micro_batches{2 * group}).cost == times(2).cost);
  }
}

}  // namespace
