#include <ashlar/improve.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"
#include <ashlar/check_schedule.hpp>
#include <ashlar/metrics.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace shapes;

namespace {

// ZB-H1 with a warm-up that transfers make worth improving.
constexpr schedule uneven(int p, int m) {
  return catalog::zb_h1(devices{p}) | repeat(micro_batches{m})
         | retime(costs(stage_cost{.forward = 3, .backward_input = 4, .backward_weight = 2}, 2));
}

constexpr tick search_score(schedule const& s, effort e) {
  return makespan(s) + e.span_weight * span(s);
}

constexpr bool holds_at_most(schedule const& s, int limit) {
  for (int peak : peak_activations(s))
    if (peak > limit) return false;
  return true;
}

constexpr bool test_dice() {
  schedule const s = one_f_one_b(2, 2);
  improver a(s, 2, {.passes = 1, .seed = 7}), b = a, other(s, 2, {.passes = 1, .seed = 8});
  int same = 0;
  for (int i = 0; i < 64; ++i) {
    std::size_t const thrown = a.random(1000);
    HOLDS(thrown < 1000 && thrown == b.random(1000));
    same += thrown == other.random(1000);
  }
  HOLDS(same < 8);
  // The generator is Knuth's MMIX, of which the upper 31 bits are used: the same on every machine.
  improver c(s, 2, {.passes = 1, .seed = 1});
  std::uint64_t const next = 6364136223846793005U + 1442695040888963407U;
  HOLDS(c.random(1000) == (next >> 33U) % 1000);
  return true;
}
BOTH_TIMES("dice that fall alike for a seed", test_dice)

constexpr bool test_justify() {
  schedule const s = uneven(3, 4);
  effort const e{.passes = 10'000};
  improver search(s, 3, e);
  std::int64_t const size = 3 * 3 * 4;  // passes
  HOLDS(!search.found() && search.left() == 10'000);
  tick const least = search.justify(search.passes().orders(), {}, false);
  HOLDS(search.found() && search.left() == 10'000 - 3 * size);  // forward, reverse, forward
  HOLDS(least <= search_score(s, e));
  HOLDS(search_score(search.result(), e) == least);
  HOLDS(check(search.result()).ok() && holds_at_most(search.result(), 3));

  search.justify(search.passes().orders(), {.window = 4}, true);  // and once more at liberty
  HOLDS(search.left() == 10'000 - 7 * size);
  HOLDS(search_score(search.result(), e) <= least);
  return true;
}
BOTH_TIMES("justifying gives the best that was met, and costs its passes", test_justify)

constexpr bool test_stuck() {
  schedule const s = catalog::gpipe(devices{2}, micro_batches{3}) | repeat(micro_batches{3}) | squeeze();
  improver search(s, 1, {.passes = 1000});
  HOLDS(search.justify(search.passes().orders(), {}, false) == max_tick);  // it holds three
  HOLDS(!search.found() && search.left() == 1000 - 12);
  HOLDS(search.justify(search.passes().orders(), {.window = 8}, false) < max_tick);
  HOLDS(search.found() && holds_at_most(search.result(), 1));
  return true;
}
BOTH_TIMES("a plan that gets stuck leaves nothing", test_stuck)

constexpr bool test_span_weight() {
  schedule const s = uneven(2, 3);
  effort const makespan_only{.passes = 1000, .span_weight = 0};
  improver search(s, 2, makespan_only);
  HOLDS(search.justify(search.passes().orders(), {}, false) <= makespan(s));
  HOLDS(makespan(search.result()) <= makespan(s));
  return true;
}
BOTH_TIMES("the span counts as much as one says", test_span_weight)

TEST_CASE("polishing never makes worse, keeps to the limit and to its budget") {
  for (int p : {2, 3, 4})
    for (int m : {3, 6})
      for (std::uint64_t seed : {1U, 2U, 3U}) {
        schedule const s = uneven(p, m);
        effort const e{.passes = 40'000, .seed = seed};
        improver search(s, p, e), again(s, p, e);
        for (improver* i : {&search, &again}) i->justify(i->passes().orders(), {}, false);
        tick before = search_score(search.result(), e);
        for (std::int64_t left = search.left(); left > 0;) {
          search.polish();
          again.polish();
          CHECK(search.left() == left - 3 * p * m);
          left = search.left();
          if (left % 7 != 0) continue;
          tick const now = search_score(search.result(), e);
          CHECK(now <= before);
          before = now;
        }
        CHECK(search.result() == again.result());
        CHECK(check(search.result()).ok());
        CHECK(holds_at_most(search.result(), p));
      }
}

}  // namespace
