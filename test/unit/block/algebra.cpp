#include <ashlar/block/algebra.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/block/check.hpp>
#include <ashlar/block/measures.hpp>
#include <ashlar/schedule/check.hpp>

#include <limits>

using namespace shapes;

namespace {

constexpr tick offset_of(block const& b, pass what) {
  for (cell const& c : b.cells)
    if (c.what == what) return c.offset;
  return -1'000'000;
}

TEST_CASE("mirror, shift, with_interval, delay") {
  block const b = catalog::one_f_one_b(devices{3});
  CHECK((mirror(mirror(b)) == b && mirror(b) != b));
  CHECK((mirror(b).device_of({F, 0, 0}) == 2 && mirror(b).cells == b.cells));
  CHECK((shift(shift(b, 5), -5) == b && shift(b, 5).cells[0].offset == b.cells[0].offset + 5));
  CHECK((with_interval(b, 7).interval == 7 && with_interval(b, 7).cells == b.cells));
  CHECK(offset_of(delay(b, {B, 1, 0}, 4), {B, 1, 0}) == offset_of(b, {B, 1, 0}) + 4);
  CHECK((b | mirror() | shift(2) | with_interval(6)) == with_interval(shift(mirror(b), 2), 6));
  CHECK((b | delay({F, 0, 0}, -1)) == delay(b, {F, 0, 0}, -1));
}

TEST_CASE("scale makes passes longer, spread the time between them") {
  block const b = recomputed(2), slow = b | scale(10);
  CHECK((slow.interval == 80 && slow.cost.transfer(0, 1) == 10));
  CHECK((slow.length_of({R, 0, 0}) == 10 && slow.length_of({B, 0, 0}) == 40));
  CHECK(offset_of(slow, {B, 0, 0}) == 10 * offset_of(b, {B, 0, 0}));
  CHECK((check(b).ok() && check(slow).ok()));
  // A recompute that was as long as the forward stays so.
  CHECK(scale(catalog::zb_h1(devices{2}), 3).length_of({R, 0, 0}) == 3);
  block const far = spread(b, 2);
  CHECK((far.cost == b.cost && far.interval == 16 && check(far).ok()));
}

TEST_CASE("overlay numbers the second block after the first") {
  block const one = spread(catalog::one_f_one_b(devices{2}), 2), both = overlay(one, mirror(one));
  CHECK((both.micro_batch_count() == 2 && both.where.route_count() == 2));
  CHECK(both.route == std::vector<int>{0, 1});
  CHECK(both.cells.size() == 2 * one.cells.size());
  CHECK((both.device_of({F, 0, 0}) == 0 && both.device_of({F, 0, 1}) == 1));
  CHECK(overlay(both, both).route == std::vector<int>{0, 1, 2, 3});
  CHECK(overlay(both, one).cells.back().what.micro_batch == 2);
}

TEST_CASE("fused and split backwards") {
  block const fused = catalog::one_f_one_b(devices{3}), split = split_backward(fused);
  CHECK(split.cells.size() == 9);
  CHECK(offset_of(split, {W, 1, 0}) == offset_of(split, {I, 1, 0}) + 1);
  CHECK(check(split).ok());
  CHECK(fuse_backward(split) == fused);
  CHECK((fuse_backward(fused) == fused && split_backward(split) == split));
  // Weight passes move: room is made for the longer backward.
  block const zb = catalog::zb_h1(devices{3});
  CHECK((check(fuse_backward(zb)).ok() && fuse_backward(zb).interval == 6));
  CHECK((zb | fuse_backward() | split_backward()) == split_backward(fuse_backward(zb)));
}

TEST_CASE("previous stages wait for fused backwards") {
  // Weights come right after, but stage 0 did not wait for that of stage 1.
  block const b = make_block(linear(devices{2}), {}, 6, {F, I, W}, [](pass_kind kind, int stage) {
    return tick{kind == F ? stage : (kind == I ? 2 : 3) + 1 - stage};
  });
  CHECK((check(b).ok() && check(fuse_backward(b)).ok() && fuse_backward(b).interval == 12));
}

TEST_CASE("recompute comes before every backward") {
  block const b = recompute(catalog::one_f_one_b(devices{3}));
  CHECK((b.cells.size() == 9 && check(b).ok()));
  for (int s = 0; s < 3; ++s) CHECK(offset_of(b, {B, s, 0}) == offset_of(b, {R, s, 0}) + 1);
  block const split = catalog::zb_h1(devices{3}) | recompute();
  CHECK((split.cells.size() == 12 && check(split).ok()));
}

// A recompute of 3 ticks before an input pass of 2 takes three times its place, not twice.
TEST_CASE("recompute makes room for itself") {
  block const b = make_block(linear(devices{1}), costs(stage_cost{3, 2, 1, 3}), 6, {F, I, W},
                             [](pass_kind kind, int) {
                               return tick{kind == F ? 0 : kind == I ? 3 : 5};
                             });
  CHECK((check(b).ok() && check(recompute(b)).ok() && recompute(b).interval == 18));
  // It takes its own time, not that of the forward.
  block const other = make_block(linear(devices{1}), costs(stage_cost{1, 2, 1, 3}), 6, {F, I, W},
                                 [](pass_kind kind, int) {
                                   return tick{kind == F ? 0 : kind == I ? 1 : 3};
                                 });
  CHECK(check(recompute(other)).ok());
  CHECK(offset_of(recompute(other), {I, 0, 0}) == offset_of(recompute(other), {R, 0, 0}) + 3);
}

TEST_CASE("weight passes fill the first gaps") {
  block const b = make_block(linear(devices{1}), {}, 5, {F, I},
                             [](pass_kind kind, int) { return tick{kind == F ? 0 : 4}; })
                  | weights_in_first_gaps();
  CHECK(offset_of(b, {W, 0, 0}) == 6);  // 5 is the next forward
  CHECK(check(b).ok());
  for (int p = 1; p <= 6; ++p) {
    block const v = catalog::v_half(devices{p});
    CHECK(check(v).ok());
    CHECK(v.cells.size() == static_cast<std::size_t>(6 * p));
  }
}

TEST_CASE("collisions are modulo the interval") {
  block const b = with_interval(catalog::one_f_one_b(devices{1}), 4);
  cell const f{{F, 0, 0}, 0};
  CHECK((!collide(b, f, {{B, 0, 0}, 1}) && !collide(b, f, {{B, 0, 0}, 2})));
  CHECK(collide(b, f, {{B, 0, 0}, 3}));  // its second tick is the next forward's
  CHECK((collide(b, f, {{B, 0, 0}, -1}) && collide(b, f, {{B, 0, 0}, 400})));
  CHECK((!collide(b, f, {{B, 0, 0}, -2}) && !collide(b, f, {{B, 0, 0}, 401})));
}

TEST_CASE("what takes no time stands where another begins, and not within it") {
  block b = make_block(linear(devices{1}), costs(stage_cost{2, 0, 1}), 4, {F, I, W},
                       [](pass_kind kind, int) { return kind == F ? tick{0} : tick{2}; });
  CHECK(check(b).ok());
  CHECK_FALSE(collide(b, {{F, 0, 0}, 0}, {{I, 0, 0}, 2}));
  CHECK(collide(b, {{F, 0, 0}, 0}, {{I, 0, 0}, 1}));
  CHECK(collide(b, {{I, 0, 0}, 1}, {{F, 0, 0}, 0}));
  CHECK_FALSE(collide(b, {{W, 0, 0}, 2}, {{I, 0, 0}, 2}));
  // Cells may be listed in any order: a pass that takes no time comes first in the repetitions.
  std::swap(b.cells[1], b.cells[2]);
  schedule const s = repeat(b, micro_batches{2});
  CHECK((check(s).ok() && s.order[0][1].what.kind == I && s.order[0][2].what.kind == W));
  // Cells of one moment come as they need each other.
  block const at_once = make_block(looped(devices{1}, chunks{2}), costs(stage_cost{0, 0, 0}), 1,
                                   {W, I, F}, [](pass_kind, int) { return tick{5}; });
  CHECK((check(at_once).ok() && check(repeat(at_once, micro_batches{3})).ok()));
  CHECK(activation_bound(at_once, device_id{0}) == 2);
  CHECK(repeated_peak(at_once, device_id{0}) == 2);
}

// A forward that takes no time stands between the input and the weight pass of the stage after it.
TEST_CASE("passes between which another stands are spread before they are fused") {
  block const b = make_block(looped(devices{1}, chunks{2}), costs({{0, 1, 1}, {1, 1, 1}}), 5, {F, I, W},
                             [](pass_kind kind, int stage) {
                               if (kind == F) return tick{stage == 0 ? -3 : 0};
                               return tick{stage == 0 ? 3 : 1} + (kind == W ? 1 : 0);
                             });
  REQUIRE(check(b).ok());
  block const fused = fuse_backward(b);
  CHECK((check(fused).ok() && fused.interval == 10));
}

TEST_CASE("what takes no time cannot be spread") {
  block const b = make_block(linear(devices{1}), costs(stage_cost{1, 0, 2}), 3, {F, I, W},
                             [](pass_kind kind, int) { return kind == F ? tick{0} : tick{1}; });
  CHECK(check(b).ok());
  CHECK_BREAKS(spread_passes_take_time, recompute(b));
  block late = b;
  late.cells[2].offset = 4;  // a weight pass that leaves room for others
  late.interval = 6;
  CHECK_BREAKS(spread_passes_take_time, fuse_backward(late));
  block const second = make_block(
      linear(devices{2}), costs({{1, 1, 1}, {1, 0, 2}}), 8, {F, I, W}, [](pass_kind kind, int stage) {
        if (kind == F) return tick{stage};
        return stage == 1 ? tick{kind == I ? 2 : 4} : tick{kind == I ? 6 : 7};
      });
  try {
    fuse_backward(second);
    CHECK(false);
  } catch (violation const& v) {
    CHECK(v.why.first.what == pass{I, 1, 0});
  }
  CHECK(check(fuse_backward(b)).ok());  // where it stands right behind
}

TEST_CASE("over another stage graph") {
  stage_graph const islands(stages{3}, {});
  block const b = catalog::one_f_one_b(devices{3}) | with_graph(islands);
  CHECK((b.graph == islands && check(b).ok()));
  CHECK(check(fork_join()).ok());
}

TEST_CASE("operations without a result") {
  block const b = catalog::one_f_one_b(devices{3});
  CHECK_BREAKS(tables_agree, with_graph(b, chain(stages{4})));
  CHECK_BREAKS(intervals_agree, overlay(b, with_interval(b, 4)));
  CHECK_BREAKS(intervals_agree, overlay(with_interval(b, 4), b));
  CHECK_BREAKS(tables_agree, overlay(b, catalog::one_f_one_b(devices{2})));
  CHECK_BREAKS(parts_are_alike, overlay(b, with_graph(b, stage_graph(stages{3}, {}))));
  block dear = b;
  dear.cost = costs(stage_cost{2, 2, 2});
  CHECK_BREAKS(parts_are_alike, overlay(b, dear));
  block forward_only = b;
  forward_only.mode = execution_mode::inference;
  CHECK_BREAKS(parts_are_alike, overlay(b, forward_only));
  CHECK_BREAKS(every_pass_is_present, delay(b, {W, 0, 0}, 1));
  block const full = make_block(linear(devices{1}), {}, 2, {F, I},
                                [](pass_kind kind, int) { return tick{kind == F ? 0 : 1}; });
  CHECK_BREAKS(passes_do_not_collide, weights_in_first_gaps(full));
  CHECK(check(weights_in_first_gaps(with_interval(full, 3))).ok());
}

TEST_CASE("a block that recomputes is not recomputed again") {
  block const b = catalog::one_f_one_b(devices{3});
  CHECK_BREAKS(no_pass_is_doubled, recompute(recompute(b)));
  CHECK_BREAKS(no_pass_is_doubled, recompute(recomputed(2)));
  CHECK_BREAKS(no_pass_is_doubled, b | recompute() | split_backward() | recompute());
  try {
    recompute(mirror(recomputed(2)));
  } catch (violation const& v) {
    CHECK(v.why.first == site{.device = 1, .what = {R, 0, 0}});
  }
}

TEST_CASE("several repetitions as one block") {
  block const b = catalog::zb_h1(devices{3}), three = unroll(b, 3);
  CHECK((three.micro_batch_count() == 3 && three.interval == 9));
  CHECK((three.cells.size() == 3 * b.cells.size() && check(three).ok()));
  CHECK(repeat(three, micro_batches{6}) == repeat(b, micro_batches{6}));
  CHECK((unroll(b, 1) == b && (b | unroll(3)) == three));
  // A group of two micro-batches comes again as the next two.
  block const pair = catalog::gems(devices{2}), twice = unroll(pair, 2);
  CHECK((twice.micro_batch_count() == 4 && check(twice).ok()));
  CHECK(repeat(twice, micro_batches{4}) == repeat(pair, micro_batches{4}));
}

TEST_CASE("no repetitions are no block") {
  CHECK_BREAKS(counts_are_positive, unroll(catalog::zb_h1(devices{3}), 0));
  CHECK_BREAKS(counts_are_positive, unroll(catalog::zb_h1(devices{3}), -1));
}

TEST_CASE("scale stretches overlapped pairs") {
  block b = catalog::zb_h1(devices{2});
  b.cost.passes.overlapped = 5;
  CHECK(scale(b, 3).cost.passes.overlapped == 15);
  b.cost.passes.overlapped = pass_costs::one_after_the_other;
  CHECK(scale(b, 3).cost.passes.overlapped == pass_costs::one_after_the_other);
}

TEST_CASE("blocks made by hand and times out of range are refused") {
  block const b = catalog::zb_h1(devices{3});
  CHECK_BREAKS(ticks_fit, shift(b, max_tick));
  CHECK_BREAKS(ticks_fit, delay(b, b.cells[0].what, INT64_MIN));
  CHECK_BREAKS(ticks_fit, scale(b, max_tick / 2));
  CHECK_BREAKS(counts_are_positive, scale(b, -1));
  CHECK_BREAKS(counts_are_positive, spread(b, 0));
  constexpr int huge = std::numeric_limits<int>::max();
  CHECK_BREAKS(parameter_is_at_most, unroll(unroll(b, 2), huge));
  block long_one = b;
  long_one.interval = max_tick / 4;
  CHECK_BREAKS(ticks_fit, unroll(long_one, 8));
  CHECK_BREAKS(ticks_fit, repeat(long_one, micro_batches{8}));
  auto const each_refuses = [](block const& wrong, rule expected) {
    CHECK(violations::broken_by([&] { split_backward(wrong); }) == expected);
    CHECK(violations::broken_by([&] { fuse_backward(wrong); }) == expected);
    CHECK(violations::broken_by([&] { recompute(wrong); }) == expected);
    CHECK(violations::broken_by([&] { weights_in_first_gaps(wrong); }) == expected);
    CHECK(violations::broken_by([&] { unroll(wrong, 2); }) == expected);
    CHECK(violations::broken_by([&] { repeat(wrong, micro_batches{2}); }) == expected);
  };
  block wrong = b;
  wrong.cells[1].what.stage = 3;
  each_refuses(wrong, rule::every_pass_is_known);
  wrong = b;
  wrong.cells[1].what.micro_batch = -1;
  each_refuses(wrong, rule::every_pass_is_known);
  wrong = b;
  wrong.route = {7};
  each_refuses(wrong, rule::micro_batches_take_a_route);
  wrong = b;
  wrong.cost.passes = std::vector<stage_cost>(7);
  each_refuses(wrong, rule::tables_agree);
  wrong = b;
  wrong.graph = chain(stages{2});
  each_refuses(wrong, rule::tables_agree);
  wrong = b;
  wrong.interval = 0;
  each_refuses(wrong, rule::counts_are_positive);
  wrong = b;
  wrong.cells[0].offset = INT64_MIN;
  each_refuses(wrong, rule::ticks_fit);
}

TEST_CASE("a backward whose parts have no input time is recomputed beside its whole") {
  block const b =
      make_block(linear(devices{2}), costs(stage_cost{1, 0, 2}), 3, {F, B},
                 [](pass_kind kind, int stage) { return tick{kind == F ? stage : 4 - 2 * stage}; });
  CHECK((check(b).ok() && check(recompute(b)).ok()));
}

TEST_CASE("weight passes are placed in the order of their input passes, however cells are listed") {
  block b = make_block(looped(devices{1}, chunks{2}), {}, 6, {F, I},
                       [](pass_kind kind, int stage) { return tick{kind == F ? stage : 3 - stage}; });
  CHECK(b.cells[1].what == pass{I, 0, 0});  // the later one is listed first
  block const filled = weights_in_first_gaps(b);
  CHECK((offset_of(filled, {W, 1, 0}) == 4 && offset_of(filled, {W, 0, 0}) == 5));
}

}  // namespace
