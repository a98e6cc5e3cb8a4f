#include <ashlar/block/without_collisions.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/repeat.hpp>

#include <vector>

using namespace shapes;

namespace {

constexpr tick moved(block const& from, block const& to) {
  tick sum = 0;
  for (std::size_t c = 0; c < from.cells.size(); ++c) {
    tick const by = to.cells[c].offset - from.cells[c].offset;
    sum += by < 0 ? -by : by;
  }
  return sum;
}

// Puts all passes of a stage at once, where there is room for one after the other.
constexpr block at_once(tick interval) {
  return make_block(linear(devices{1}), {}, interval, {F, I, W}, [](pass_kind, int) { return tick{0}; });
}

TEST_CASE("passes that all want the same tick") {
  block const wishes = at_once(3);
  CHECK(!check(wishes).ok());
  block const right = without_collisions(wishes);
  CHECK((check(right).ok() && right.interval == 3 && right.cells.size() == 3));
  CHECK(moved(wishes, right) == 2);  // the forward one earlier, the weight pass one later
  CHECK((right == without_collisions(wishes) && right == (wishes | without_collisions())));
  CHECK(without_collisions(right) == right);
}

// Only the input pass has to move, by one tick, and nothing as far from its place as that is looked at.
TEST_CASE("what can stay stays, and few steps find it") {
  block const wishes =
      make_block(linear(devices{1}), costs(stage_cost{1, 2, 1}), 5, {F, I, W}, [](pass_kind kind, int) {
        return tick{kind == F ? 0 : kind == I ? 3 : 4};
      });
  block const right = without_collisions(wishes, 5);
  CHECK((check(right).ok() && moved(wishes, right) == 1));
  CHECK(right.cells[1].offset == 2);
}

TEST_CASE("what takes no time is in nobody's way") {
  block const wishes = make_block(linear(devices{1}), costs(stage_cost{0, 1, 1}), 6, {F, I, W},
                                  [](pass_kind, int) { return tick{2}; });
  block const right = without_collisions(wishes);
  CHECK((check(right).ok() && moved(wishes, right) == 1));  // the weight pass
}

// The forward takes ticks 0 to 3 of each 12; the weight pass wishes for the last of them.
TEST_CASE("without a search, a pass goes to the nearer of the free times before and after") {
  auto const placed = [](tick wish) {
    block const wishes = make_block(linear(devices{1}), costs(stage_cost{3, 1, 1}), 12, {F, I, W},
                                    [&](pass_kind kind, int) {
                                      return kind == F ? tick{0} : kind == I ? tick{5} : wish;
                                    });
    return without_collisions(wishes, 0).cells[2].offset;
  };
  CHECK((placed(12) == 11 && placed(14) == 15));
}

// Cells that have to move for those before them rule out most ways.
TEST_CASE("the steps that are taken by default are enough for nine passes") {
  block const wishes = make_block(
      linear(devices{3}), costs(stage_cost{1, 2, 1}), 4, {F, I, W}, [](pass_kind kind, int stage) {
        return kind == F ? tick{stage} : tick{3 - stage} + (kind == W ? 1 : 0);
      });
  CHECK(moved(wishes, without_collisions(wishes)) == 17);
  CHECK(moved(wishes, without_collisions(wishes, 100'000)) == 17);
}

TEST_CASE("down, up and down again, with an interval that leaves no idle time") {
  // These are wishes as people write them: a tick a hop, forward and back. Two of 6,561 choices of one
  // more or one less have no collisions.
  placement const zigzag(devices{2}, {{0, 1, 1, 0, 0, 1}});
  block const wishes = make_block(zigzag, {}, 9, {F, I, W}, [](pass_kind kind, int stage) {
    return kind == F ? tick{stage} : kind == I ? tick{11 - stage} : tick{12 - stage};
  });
  CHECK(check(wishes).broken == rule::passes_do_not_collide);
  block const right = without_collisions(wishes);
  CHECK(check(right).ok());
  CHECK(check(right | repeat(micro_batches{7})).ok());
}

// These lengths leave gaps that are too short: everything has to move, but there is room.
TEST_CASE("no gap may be left") {
  block b = make_block(linear(devices{2}), costs(stage_cost{3, 5, 2}, 4), 10, {F, I, W},
                       [](pass_kind kind, int) { return tick{4 * static_cast<int>(kind)}; });
  block const right = without_collisions(b);
  CHECK(check(right).ok());
  // It holds in ticks a million times as short, too.
  costs const fine(stage_cost{3'000'000, 5'000'001, 2'000'000}, 4'000'000);
  b.cost = fine;
  b.interval = 10'000'001;
  CHECK(check(without_collisions(b)).ok());
}

TEST_CASE("blocks that cannot be right") {
  CHECK_BREAKS(parameter_is_at_least, without_collisions(at_once(2)));
  try {
    without_collisions(at_once(2));
  } catch (violation const& v) {
    CHECK(v.why.which == parameter::block_interval);
    CHECK(v.why.number == 3);
    CHECK(v.why.given == 2);
    CHECK(v.why.first.device == 0);
  }
  block incomplete = at_once(3);
  incomplete.cells.pop_back();
  CHECK_BREAKS(every_pass_is_present, without_collisions(incomplete));
  block far = at_once(max_tick - 1);
  CHECK_BREAKS(ticks_fit, without_collisions(far));
}

}  // namespace
