// Blocks from wishes are right and near; with few passes they are the nearest there are.
#include "random.hpp"
#include "random_cases.hpp"
#include <ashlar/block/without_collisions.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/repeat.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

using namespace random_case;

namespace {

tick change_between(block const& a, block const& b) {
  tick sum = 0;
  for (std::size_t c = 0; c < a.cells.size(); ++c)
    sum +=
        std::max(a.cells[c].offset, b.cells[c].offset) - std::min(a.cells[c].offset, b.cells[c].offset);
  return sum;
}

TEST_CASE("wishes near a right block become a right one") {
  int moved = 0;
  FOR_SEEDS(random_cases(200)) {
    block const right = random_block(d);
    CAPTURE(seed);
    INFO(words(right));
    CHECK(without_collisions(right) == right);
    block wishes = right;
    for (cell& c : wishes.cells)
      if (d.percent(30)) c.offset += d.between(-3, 3);
    block const found = without_collisions(wishes, 500);
    CHECK(check(found).ok());
    CHECK(check(found | repeat(random_count(d, found))).ok());
    CHECK(found.interval == wishes.interval);
    CHECK(found == without_collisions(wishes, 500));
    // More steps find nothing farther.
    tick const change = change_between(wishes, found);
    CHECK(change_between(wishes, without_collisions(wishes, 1000)) <= change);
    moved += change > 0 ? 1 : 0;
  }
  CHECK(moved > 20);
}

// All offsets up to `reach` away.
tick nearest(block const& wishes, int reach) {
  tick best = max_tick;
  block b = wishes;
  auto const vary = [&](auto const& self, std::size_t c, tick so_far) -> void {
    if (so_far >= best) return;
    if (c == b.cells.size()) {
      if (check(b).ok()) best = so_far;
      return;
    }
    for (int by = -reach; by <= reach; ++by) {
      b.cells[c].offset = wishes.cells[c].offset + by;
      self(self, c + 1, so_far + std::max(by, -by));
    }
  };
  vary(vary, 0, 0);
  return best;
}

TEST_CASE("of few passes, none are nearer") {
  constexpr int reach = 5;
  int known = 0;
  int const cases = random_cases(40);
  FOR_SEEDS(cases) {
    devices const p{d.between(1, 2)};
    stages const count{p.value == 1 ? d.between(1, 2) : 2};
    placement const where = random_placement(d, p, count);
    costs const cost(stage_cost{d.between(1, 2), 1, 1}, d.between(0, 1));
    block wishes = make_block(where, cost, 1, {pass_kind::forward, pass_kind::backward},
                              [&](pass_kind, int) { return tick{d.between(0, 5)}; });
    std::vector<tick> work(static_cast<std::size_t>(p.value), 0);
    for (cell const& c : wishes.cells)
      work[static_cast<std::size_t>(wishes.device_of(c.what))] += wishes.length_of(c.what);
    wishes.interval = *std::max_element(work.begin(), work.end()) + d.between(0, 2);
    CAPTURE(seed);
    INFO(words(wishes));
    block const found = without_collisions(wishes, 1'000'000);
    CHECK(check(found).ok());
    tick const least = nearest(wishes, reach);
    if (least > reach) continue;  // one pass alone might have to go farther
    CHECK(change_between(wishes, found) == least);
    ++known;
  }
  CHECK(4 * known > cases);
}

}  // namespace
