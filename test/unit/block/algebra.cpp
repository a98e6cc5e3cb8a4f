#include <ashlar/block/algebra.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"
#include <ashlar/block/check.hpp>

using namespace shapes;

namespace {

constexpr tick offset_of(block const& b, pass what) {
  for (cell const& c : b.cells)
    if (c.what == what) return c.offset;
  return -1'000'000;
}

constexpr bool test_moves() {
  block const b = catalog::one_f_one_b(devices{3});
  HOLDS(mirror(mirror(b)) == b && mirror(b) != b);
  HOLDS(mirror(b).device_of({F, 0, 0}) == 2 && mirror(b).cells == b.cells);
  HOLDS(shift(shift(b, 5), -5) == b && shift(b, 5).cells[0].offset == b.cells[0].offset + 5);
  HOLDS(with_interval(b, 7).interval == 7 && with_interval(b, 7).cells == b.cells);
  HOLDS(offset_of(delay(b, {B, 1, 0}, 4), {B, 1, 0}) == offset_of(b, {B, 1, 0}) + 4);
  HOLDS((b | mirror() | shift(2) | with_interval(6)) == with_interval(shift(mirror(b), 2), 6));
  HOLDS((b | delay({F, 0, 0}, -1)) == delay(b, {F, 0, 0}, -1));
  return true;
}
BOTH_TIMES("mirror, shift, with_interval, delay", test_moves)

constexpr bool test_scale() {
  block const b = recomputed(2), slow = b | scale(10);
  HOLDS(slow.interval == 80 && slow.cost.transfer(0, 1) == 10);
  HOLDS(slow.length_of({R, 0, 0}) == 10 && slow.length_of({B, 0, 0}) == 40);
  HOLDS(offset_of(slow, {B, 0, 0}) == 10 * offset_of(b, {B, 0, 0}));
  HOLDS(check(b).ok() && check(slow).ok());
  // A recompute that was as long as the forward stays so.
  HOLDS(scale(catalog::zb_h1(devices{2}), 3).length_of({R, 0, 0}) == 3);
  block const far = spread(b, 2);
  HOLDS(far.cost == b.cost && far.interval == 16 && check(far).ok());
  return true;
}
BOTH_TIMES("scale makes passes longer, spread the time between them", test_scale)

constexpr bool test_overlay() {
  block const one = spread(catalog::one_f_one_b(devices{2}), 2), both = overlay(one, mirror(one));
  HOLDS(both.micro_batch_count() == 2 && both.where.route_count() == 2);
  HOLDS(both.route == std::vector<int>{0, 1});
  HOLDS(both.cells.size() == 2 * one.cells.size());
  HOLDS(both.device_of({F, 0, 0}) == 0 && both.device_of({F, 0, 1}) == 1);
  HOLDS(overlay(both, both).route == std::vector<int>{0, 1, 2, 3});
  HOLDS(overlay(both, one).cells.back().what.micro_batch == 2);
  return true;
}
BOTH_TIMES("overlay numbers the second block after the first", test_overlay)

constexpr bool test_fuse_and_split() {
  block const fused = catalog::one_f_one_b(devices{3}), split = split_backward(fused);
  HOLDS(split.cells.size() == 9);
  HOLDS(offset_of(split, {W, 1, 0}) == offset_of(split, {I, 1, 0}) + 1);
  HOLDS(check(split).ok());
  HOLDS(fuse_backward(split) == fused);
  HOLDS(fuse_backward(fused) == fused && split_backward(split) == split);
  // Weight passes elsewhere: room is made for the longer backward.
  block const zb = catalog::zb_h1(devices{3});
  HOLDS(check(fuse_backward(zb)).ok() && fuse_backward(zb).interval == 6);
  HOLDS((zb | fuse_backward() | split_backward()) == split_backward(fuse_backward(zb)));
  return true;
}
BOTH_TIMES("fused and split backwards", test_fuse_and_split)

constexpr bool test_fuse_makes_room() {
  // Weights right after, but stage 0 did not wait for that of stage 1.
  block const b = make_block(linear(devices{2}), {}, 6, {F, I, W}, [](pass_kind kind, int stage) {
    return tick{kind == F ? stage : (kind == I ? 2 : 3) + 1 - stage};
  });
  HOLDS(check(b).ok() && check(fuse_backward(b)).ok() && fuse_backward(b).interval == 12);
  return true;
}
BOTH_TIMES("previous stages wait for fused backwards", test_fuse_makes_room)

constexpr bool test_recompute() {
  block const b = recompute(catalog::one_f_one_b(devices{3}));
  HOLDS(b.cells.size() == 9 && check(b).ok());
  for (int s = 0; s < 3; ++s) HOLDS(offset_of(b, {B, s, 0}) == offset_of(b, {R, s, 0}) + 1);
  block const split = catalog::zb_h1(devices{3}) | recompute();
  HOLDS(split.cells.size() == 12 && check(split).ok());
  return true;
}
BOTH_TIMES("recompute comes before every backward", test_recompute)

// A recompute of 3 ticks before an input pass of 2 takes three times its place, not twice.
constexpr bool test_recompute_makes_room() {
  block const b = make_block(linear(devices{1}), costs(stage_cost{3, 2, 1, 3}), 6, {F, I, W},
                             [](pass_kind kind, int) {
                               return tick{kind == F ? 0 : kind == I ? 3 : 5};
                             });
  HOLDS(check(b).ok() && check(recompute(b)).ok() && recompute(b).interval == 18);
  // It takes its own time, not that of the forward.
  block const other = make_block(linear(devices{1}), costs(stage_cost{1, 2, 1, 3}), 6, {F, I, W},
                                 [](pass_kind kind, int) {
                                   return tick{kind == F ? 0 : kind == I ? 1 : 3};
                                 });
  HOLDS(check(recompute(other)).ok());
  HOLDS(offset_of(recompute(other), {I, 0, 0}) == offset_of(recompute(other), {R, 0, 0}) + 3);
  return true;
}
BOTH_TIMES("recompute makes room for itself", test_recompute_makes_room)

constexpr bool test_weights_in_first_gaps() {
  block const b = make_block(linear(devices{1}), {}, 5, {F, I},
                             [](pass_kind kind, int) { return tick{kind == F ? 0 : 4}; })
                  | weights_in_first_gaps();
  HOLDS(offset_of(b, {W, 0, 0}) == 6);  // 5 is the next forward
  HOLDS(check(b).ok());
  for (int p = 1; p <= 6; ++p) {
    block const v = catalog::v_half(devices{p});
    HOLDS(check(v).ok());
    HOLDS(v.cells.size() == static_cast<std::size_t>(6 * p));
  }
  return true;
}
BOTH_TIMES("weight passes fill the first gaps", test_weights_in_first_gaps)

constexpr bool test_collide() {
  block const b = with_interval(catalog::one_f_one_b(devices{1}), 4);
  cell const f{{F, 0, 0}, 0};
  HOLDS(!collide(b, f, {{B, 0, 0}, 1}) && !collide(b, f, {{B, 0, 0}, 2}));
  HOLDS(collide(b, f, {{B, 0, 0}, 3}));  // its second tick is the next forward's
  HOLDS(collide(b, f, {{B, 0, 0}, -1}) && collide(b, f, {{B, 0, 0}, 400}));
  HOLDS(!collide(b, f, {{B, 0, 0}, -2}) && !collide(b, f, {{B, 0, 0}, 401}));
  return true;
}
BOTH_TIMES("collisions are modulo the interval", test_collide)

constexpr bool test_over() {
  stage_graph const islands(stages{3}, {});
  block const b = catalog::one_f_one_b(devices{3}) | with_graph(islands);
  HOLDS(b.graph == islands && check(b).ok());
  HOLDS(check(fork_join()).ok());
  return true;
}
BOTH_TIMES("over another stage graph", test_over)

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

constexpr bool test_unroll() {
  block const b = catalog::zb_h1(devices{3}), three = unroll(b, 3);
  HOLDS(three.micro_batch_count() == 3 && three.interval == 9);
  HOLDS(three.cells.size() == 3 * b.cells.size() && check(three).ok());
  HOLDS(repeat(three, micro_batches{6}) == repeat(b, micro_batches{6}));
  HOLDS(unroll(b, 1) == b && (b | unroll(3)) == three);
  // A group of two micro-batches comes again as the next two.
  block const pair = catalog::gems(devices{2}), twice = unroll(pair, 2);
  HOLDS(twice.micro_batch_count() == 4 && check(twice).ok());
  HOLDS(repeat(twice, micro_batches{4}) == repeat(pair, micro_batches{4}));
  return true;
}
BOTH_TIMES("several repetitions as one block", test_unroll)

TEST_CASE("no repetitions are no block") {
  CHECK_BREAKS(counts_are_positive, unroll(catalog::zb_h1(devices{3}), 0));
  CHECK_BREAKS(counts_are_positive, unroll(catalog::zb_h1(devices{3}), -1));
}

constexpr bool test_scale_overlapped() {
  block b = catalog::zb_h1(devices{2});
  b.cost.overlapped = 5;
  HOLDS(scale(b, 3).cost.overlapped == 15);
  b.cost.overlapped = costs::one_after_the_other;
  HOLDS(scale(b, 3).cost.overlapped == costs::one_after_the_other);
  return true;
}
BOTH_TIMES("scale stretches overlapped pairs", test_scale_overlapped)

}  // namespace
