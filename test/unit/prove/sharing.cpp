#include <ashlar/prove/sharing.hpp>
// First, so that it needs nothing before it.
#include "mutate.hpp"
#include "shapes.hpp"
#include "static_check.hpp"
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/schedule/from_orders.hpp>

using namespace shapes;
using namespace mutate;

namespace {

// Two devices, two chunks each, everything shared.
constexpr program shared(int buffers = 1) {
  return catalog::find("v-half")->make({devices{2}, micro_batches{2}})
         | lower({.data_ranks = 2,
                  .sharding = sharding_level::full,
                  .weight_buffers = buffers,
                  .prefetch = 0,
                  .step = optimizer_step::after_norm});
}

// The n-th instruction of that kind in a device's stream.
constexpr int nth(program& p, int device, opcode code, int n = 0) {
  for (int i = 0; i < length(p, device); ++i)
    if (at(p, device, i).code == code && n-- == 0) return i;
  return -1;
}

constexpr bool test_shared() {
  for (int buffers : {1, 2, 3}) HOLDS(check(shared(buffers)).ok());
  return true;
}
BOTH_TIMES("programs that share are proved", test_shared)

constexpr bool test_residency() {
  program p = shared();
  drop(p, 0, nth(p, 0, opcode::all_gather));
  diagnosis d = check(p);
  HOLDS(d.broken == rule::weights_are_resident_when_used && d.first.what == pass{F, 0, 0});
  HOLDS(d.first.device == 0 && d.second.device == -1);

  p = shared();  // given up before its only pass so far
  int const release = nth(p, 0, opcode::release);
  move(p, 0, release, nth(p, 0, opcode::all_gather) + 1);
  d = check(p);
  HOLDS(d.broken == rule::gathered_weights_are_used && d.first.code == opcode::all_gather);

  p = shared();  // given up before its last pass
  int const last = nth(p, 0, opcode::release, 0);
  int const pass_before = nth(p, 0, opcode::compute, 0);
  insert(p, 0, pass_before + 1, at(p, 0, last));
  d = check(p);
  HOLDS(d.broken == rule::weights_are_resident_when_used
        || d.broken == rule::gathered_weights_are_given_up);

  return true;
}
BOTH_TIMES("weights are resident when they are used", test_residency)

constexpr bool test_gathers() {
  program p = shared();
  drop(p, 1, nth(p, 1, opcode::release));
  HOLDS(check(p).broken == rule::gathered_weights_are_given_up
        || check(p).broken == rule::no_slot_is_overwritten_before_its_last_read);

  p = shared();
  insert(p, 1, nth(p, 1, opcode::all_gather), at(p, 1, nth(p, 1, opcode::all_gather)));
  diagnosis d = check(p);
  HOLDS(d.broken == rule::gathered_weights_are_given_up && d.second.code == opcode::all_gather);

  p = shared();  // a gather at the end, for nothing
  int const gather = nth(p, 1, opcode::all_gather);
  insert(p, 1, length(p, 1), at(p, 1, gather));
  d = check(p);
  HOLDS(d.broken == rule::gathered_weights_are_used && d.first.index == length(p, 1) - 1);

  p = shared();
  p.sharding = sharding_level::none;  // then there are no shards
  HOLDS(check(p).broken == rule::group_is_held_where_it_is_named);
  return true;
}
BOTH_TIMES("gathers are used and given up", test_gathers)

constexpr bool test_scatter() {
  program p = shared();
  int const scatter = nth(p, 0, opcode::reduce_scatter);
  int const stage = at(p, 0, scatter).what.stage;
  instruction const dropped = drop(p, 0, scatter);
  diagnosis d = check(p);
  HOLDS(d.broken == rule::gradient_is_scattered_whole && d.second.code == opcode::all_reduce);
  HOLDS(gives_weight_gradient(d.first.what.kind) && d.first.what.stage == stage);

  insert(p, 0, find_reduction(p, 0, stage) + 1, dropped);  // after the reduction
  HOLDS(check(p).broken == rule::gradient_is_scattered_whole);

  p = shared();
  insert(p, 0, scatter, at(p, 0, scatter));  // twice
  d = check(p);
  HOLDS(d.broken == rule::gradient_is_scattered_whole && d.first.index == scatter + 1);
  return true;
}
BOTH_TIMES("every part of a gradient is scattered once", test_scatter)

constexpr bool test_step() {
  program p = shared();
  drop(p, 1, nth(p, 1, opcode::optimize));
  diagnosis d = check(p);
  HOLDS(d.broken == rule::optimizer_steps_once_after_reduction && d.first.device == 1);

  p = shared();
  insert(p, 1, length(p, 1), at(p, 1, nth(p, 1, opcode::optimize)));
  HOLDS(check(p).broken == rule::optimizer_steps_once_after_reduction);

  p = shared();
  int const optimize = nth(p, 0, opcode::optimize);
  int const reduction = find_reduction(p, 0, at(p, 0, optimize).what.stage);
  move(p, 0, optimize, reduction);
  HOLDS(check(p).broken == rule::optimizer_steps_once_after_reduction);
  return true;
}
BOTH_TIMES("optimizer steps come last, once", test_step)

constexpr bool test_norm() {
  program p = shared();
  move(p, 0, nth(p, 0, opcode::measure), length(p, 0) - 1);
  diagnosis d = check(p);
  HOLDS(d.broken == rule::norm_is_of_all_gradients && d.first.code == opcode::measure);
  p = shared();
  move(p, 0, nth(p, 0, opcode::measure), nth(p, 0, opcode::all_reduce));
  HOLDS(check(p).broken == rule::norm_is_of_all_gradients);
  p = shared();
  drop(p, 0, nth(p, 0, opcode::measure));
  HOLDS(check(p).broken == rule::norm_is_of_all_gradients);
  p = shared();
  int const measure = nth(p, 0, opcode::measure);
  insert(p, 0, measure, at(p, 0, measure));  // twice
  d = check(p);
  HOLDS(d.broken == rule::norm_is_of_all_gradients && d.first.index == measure + 1);
  HOLDS(d.second.index == measure);
  p = shared();
  drop(p, 0, nth(p, 0, opcode::measure));
  p.step = optimizer_step::at_end;  // nor on one device only
  HOLDS(check(p).broken == rule::norm_is_of_all_gradients);
  p = shared();
  drop(p, 0, nth(p, 0, opcode::measure) + 1);  // the sum
  HOLDS(check(p).broken == rule::norm_is_of_all_gradients);
  return true;
}
BOTH_TIMES("the norm is measured and summed once, before the steps", test_norm)

constexpr bool test_zeros() {
  program p = shared();
  int const clear = nth(p, 0, opcode::clear, 2);  // of a buffer; the first two are of shards
  HOLDS(at(p, 0, clear).subject == slot_kind::weight_gradient);
  instruction const dropped = drop(p, 0, clear);
  diagnosis d = check(p);
  HOLDS(d.broken == rule::gradient_starts_from_zero && gives_weight_gradient(d.first.what.kind));
  insert(p, 0, d.first.index - p.stream_begin[0] + 1, dropped);  // after the first pass
  HOLDS(check(p).broken == rule::gradient_starts_from_zero);
  p = shared();
  insert(p, 0, clear, dropped);
  d = check(p);
  HOLDS(d.broken == rule::gradient_starts_from_zero && d.first.index == clear + 1);
  HOLDS(d.second.index == clear);
  p = shared();
  instruction const zeros = drop(p, 0, nth(p, 0, opcode::clear));  // of a shard
  d = check(p);
  HOLDS(d.broken == rule::gradient_starts_from_zero && d.first.code == opcode::reduce_scatter);
  return zeros.subject == slot_kind::gradient_shard;
}
BOTH_TIMES("buffers and shards start from zero, once", test_zeros)

// Inference has nothing to sum.
constexpr bool test_zeros_in_vain() {
  schedule s = schedule_from_orders(linear(devices{1}), {0}, {}, {{{F, 0, 0}}});
  s.mode = execution_mode::inference;
  program p = squeeze(s) | lower({.data_ranks = 2, .sharding = sharding_level::full});
  HOLDS(check(p).ok());
  instruction zeros = at(p, 0, nth(p, 0, opcode::all_gather));
  zeros.code = opcode::clear;
  zeros.subject = slot_kind::gradient_shard;
  zeros.operand_count = 0;
  insert(p, 0, 0, zeros);
  diagnosis const d = check(p);
  HOLDS(d.broken == rule::gradient_starts_from_zero && d.first.index == 0);
  return true;
}
BOTH_TIMES("no zeros without a gradient", test_zeros_in_vain)

constexpr bool test_zeros_unsharded() {
  program p = one_f_one_b(2, 2) | lower();
  instruction const zeros = drop(p, 1, nth(p, 1, opcode::clear));
  HOLDS(check(p).broken == rule::gradient_starts_from_zero);
  insert(p, 1, length(p, 1), zeros);  // after the sum
  HOLDS(check(p).broken == rule::gradient_starts_from_zero);
  return true;
}
BOTH_TIMES("whole gradients start from zero, once", test_zeros_unsharded)

constexpr bool test_names() {
  program p = shared();
  for (int group : {-1, 4, 9}) {
    at(p, 0, nth(p, 0, opcode::all_gather)).group = group;
    HOLDS(check(p).broken == rule::group_is_held_where_it_is_named);
  }
  p = shared();
  at(p, 0, nth(p, 0, opcode::all_gather)).group = 1;  // lives on device 1
  HOLDS(check(p).broken == rule::group_is_held_where_it_is_named);
  p = shared();
  at(p, 0, nth(p, 0, opcode::all_reduce)).subject = slot_kind::weight_gradient;  // it lies in shards
  HOLDS(check(p).broken == rule::group_is_held_where_it_is_named);
  p = shared();
  at(p, 0, nth(p, 0, opcode::release)).lane = compute_lane;
  HOLDS(check(p).broken == rule::every_instruction_is_on_its_lane);
  p = shared();
  p.data_ranks = 0;
  HOLDS(check(p).broken == rule::counts_are_positive);
  return true;
}
BOTH_TIMES("groups and lanes of collectives", test_names)

// Slots: what the walk over stages cannot see.
constexpr bool test_slots() {
  program p = shared(2);
  operand_of(p, 0, nth(p, 0, opcode::all_gather, 1), 0).slot =
      operand_of(p, 0, nth(p, 0, opcode::all_gather, 0), 0).slot;
  HOLDS(check(p).broken == rule::no_slot_is_overwritten_before_its_last_read);

  p = shared(2);
  int const forward = nth(p, 0, opcode::compute);
  operand_of(p, 0, forward, at(p, 0, forward).operand_count - 1).slot =
      operand_of(p, 0, nth(p, 0, opcode::all_gather, 1), 0).slot;
  HOLDS(check(p).broken == rule::slot_holds_what_is_read);

  p = shared(2);
  operand_of(p, 0, nth(p, 0, opcode::reduce_scatter, 0), 1).slot =
      operand_of(p, 0, nth(p, 0, opcode::reduce_scatter, 1), 1).slot;
  HOLDS(check(p).broken == rule::slot_holds_what_is_read);

  return true;
}
BOTH_TIMES("slots of weights and shards", test_slots)

constexpr bool test_slots_at_the_end() {
  program p = shared(2);
  operand_of(p, 0, nth(p, 0, opcode::optimize, 0), 0).slot =
      operand_of(p, 0, nth(p, 0, opcode::optimize, 1), 0).slot;
  HOLDS(check(p).broken == rule::slot_holds_what_is_read);

  p = shared(2);  // it would not wait for the norm
  --at(p, 0, nth(p, 0, opcode::optimize)).operand_count;
  HOLDS(check(p).broken == rule::slot_holds_what_is_read);

  p = shared(2);
  operand_of(p, 0, nth(p, 0, opcode::measure), 0).slot =
      operand_of(p, 0, nth(p, 0, opcode::measure), 1).slot;
  HOLDS(check(p).broken == rule::slot_holds_what_is_read);
  p = shared(2);
  --at(p, 0, nth(p, 0, opcode::measure)).operand_count;
  HOLDS(check(p).broken == rule::slot_holds_what_is_read);
  return true;
}
BOTH_TIMES("slots of the norm and optimizer steps", test_slots_at_the_end)

// The replicas of two stages reduce in different orders; everyone meets for the norm.
constexpr bool test_meetings() {
  program p = lower(two_ways(2) | repeat(micro_batches{2}) | squeeze(),
                    {.reduction = gradient_reduction::at_end, .step = optimizer_step::after_norm});
  HOLDS(check(p).ok());
  exchange(p, 1, nth(p, 1, opcode::all_reduce, 0), nth(p, 1, opcode::all_reduce, 1));
  HOLDS(check(p).broken == rule::no_cycle_of_waits);
  return true;
}
BOTH_TIMES("collectives meet in the same order", test_meetings)

}  // namespace
