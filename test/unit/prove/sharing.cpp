#include <ashlar/prove/sharing.hpp>
// The header above comes first: it needs nothing before it.
#include "mutate.hpp"
#include "shapes.hpp"
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/schedule/from_orders.hpp>

#include <doctest/doctest.h>

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

TEST_CASE("programs that share are proved") {
  for (int buffers : {1, 2, 3}) CHECK(check(shared(buffers)).ok());
}

TEST_CASE("weights are resident when they are used") {
  program p = shared();
  drop(p, 0, nth(p, 0, opcode::all_gather));
  diagnosis d = check(p);
  CHECK((d.broken == rule::weights_are_resident_when_used && d.first.what == pass{F, 0, 0}));
  CHECK((d.first.device == 0 && d.second.device == -1));

  p = shared();  // given up before its only pass so far
  int const release = nth(p, 0, opcode::release);
  move(p, 0, release, nth(p, 0, opcode::all_gather) + 1);
  d = check(p);
  CHECK((d.broken == rule::gathered_weights_are_used && d.first.code == opcode::all_gather));

  p = shared();  // given up before its last pass
  int const last = nth(p, 0, opcode::release, 0);
  int const pass_before = nth(p, 0, opcode::compute, 0);
  insert(p, 0, pass_before + 1, at(p, 0, last));
  d = check(p);
  CHECK((d.broken == rule::weights_are_resident_when_used
         || d.broken == rule::gathered_weights_are_given_up));
}

TEST_CASE("gathers are used and given up") {
  program p = shared();
  drop(p, 1, nth(p, 1, opcode::release));
  CHECK((check(p).broken == rule::gathered_weights_are_given_up
         || check(p).broken == rule::no_slot_is_overwritten_before_its_last_read));

  p = shared();
  insert(p, 1, nth(p, 1, opcode::all_gather), at(p, 1, nth(p, 1, opcode::all_gather)));
  diagnosis d = check(p);
  CHECK((d.broken == rule::gathered_weights_are_given_up && d.second.code == opcode::all_gather));

  p = shared();  // a gather at the end, for nothing
  int const gather = nth(p, 1, opcode::all_gather);
  insert(p, 1, length(p, 1), at(p, 1, gather));
  d = check(p);
  CHECK((d.broken == rule::gathered_weights_are_used && d.first.index == length(p, 1) - 1));

  p = shared();
  p.sharding = sharding_level::none;  // then there are no shards
  CHECK(check(p).broken == rule::group_is_held_where_it_is_named);
}

TEST_CASE("every part of a gradient is scattered once") {
  program p = shared();
  int const scatter = nth(p, 0, opcode::reduce_scatter);
  int const stage = at(p, 0, scatter).what.stage;
  instruction const dropped = drop(p, 0, scatter);
  diagnosis d = check(p);
  CHECK((d.broken == rule::gradient_is_scattered_whole && d.second.code == opcode::all_reduce));
  CHECK((gives_weight_gradient(d.first.what.kind) && d.first.what.stage == stage));

  insert(p, 0, find_reduction(p, 0, stage) + 1, dropped);  // after the reduction
  CHECK(check(p).broken == rule::gradient_is_scattered_whole);

  p = shared();
  insert(p, 0, scatter, at(p, 0, scatter));  // twice
  d = check(p);
  CHECK((d.broken == rule::gradient_is_scattered_whole && d.first.index == scatter + 1));
}

TEST_CASE("optimizer steps come last, once") {
  program p = shared();
  drop(p, 1, nth(p, 1, opcode::optimize));
  diagnosis d = check(p);
  CHECK((d.broken == rule::optimizer_steps_once_after_reduction && d.first.device == 1));

  p = shared();
  insert(p, 1, length(p, 1), at(p, 1, nth(p, 1, opcode::optimize)));
  CHECK(check(p).broken == rule::optimizer_steps_once_after_reduction);

  p = shared();
  int const optimize = nth(p, 0, opcode::optimize);
  int const reduction = find_reduction(p, 0, at(p, 0, optimize).what.stage);
  move(p, 0, optimize, reduction);
  CHECK(check(p).broken == rule::optimizer_steps_once_after_reduction);
}

TEST_CASE("the norm is measured and summed once, before the steps") {
  program p = shared();
  move(p, 0, nth(p, 0, opcode::measure), length(p, 0) - 1);
  diagnosis d = check(p);
  CHECK((d.broken == rule::norm_is_of_all_gradients && d.first.code == opcode::measure));
  p = shared();
  move(p, 0, nth(p, 0, opcode::measure), nth(p, 0, opcode::all_reduce));
  CHECK(check(p).broken == rule::norm_is_of_all_gradients);
  p = shared();
  drop(p, 0, nth(p, 0, opcode::measure));
  CHECK(check(p).broken == rule::norm_is_of_all_gradients);
  p = shared();
  int const measure = nth(p, 0, opcode::measure);
  insert(p, 0, measure, at(p, 0, measure));  // twice
  d = check(p);
  CHECK((d.broken == rule::norm_is_of_all_gradients && d.first.index == measure + 1));
  CHECK(d.second.index == measure);
  p = shared();
  drop(p, 0, nth(p, 0, opcode::measure));
  p.step = optimizer_step::at_end;  // nor on one device only
  CHECK(check(p).broken == rule::norm_is_of_all_gradients);
  p = shared();
  drop(p, 0, nth(p, 0, opcode::measure) + 1);  // the sum
  CHECK(check(p).broken == rule::norm_is_of_all_gradients);
}

TEST_CASE("buffers and shards start from zero, once") {
  program p = shared();
  int const clear = nth(p, 0, opcode::clear, 2);  // of a buffer; the first two are of shards
  CHECK(at(p, 0, clear).subject == slot_kind::weight_gradient);
  instruction const dropped = drop(p, 0, clear);
  diagnosis d = check(p);
  CHECK((d.broken == rule::gradient_starts_from_zero && gives_weight_gradient(d.first.what.kind)));
  insert(p, 0, d.first.index - p.stream_begin[0] + 1, dropped);  // after the first pass
  CHECK(check(p).broken == rule::gradient_starts_from_zero);
  p = shared();
  insert(p, 0, clear, dropped);
  d = check(p);
  CHECK((d.broken == rule::gradient_starts_from_zero && d.first.index == clear + 1));
  CHECK(d.second.index == clear);
  p = shared();
  instruction const zeros = drop(p, 0, nth(p, 0, opcode::clear));  // of a shard
  d = check(p);
  CHECK((d.broken == rule::gradient_starts_from_zero && d.first.code == opcode::reduce_scatter));
  CHECK(zeros.subject == slot_kind::gradient_shard);
}

// Inference has nothing to sum.
TEST_CASE("no zeros without a gradient") {
  schedule s = schedule_from_orders(linear(devices{1}), {0}, {}, {{{F, 0, 0}}});
  s.mode = execution_mode::inference;
  program p = squeeze(s) | lower({.data_ranks = 2, .sharding = sharding_level::full});
  CHECK(check(p).ok());
  instruction zeros = at(p, 0, nth(p, 0, opcode::all_gather));
  zeros.code = opcode::clear;
  zeros.subject = slot_kind::gradient_shard;
  zeros.operand_count = 0;
  insert(p, 0, 0, zeros);
  diagnosis const d = check(p);
  CHECK((d.broken == rule::gradient_starts_from_zero && d.first.index == 0));
}

TEST_CASE("whole gradients start from zero, once") {
  program p = one_f_one_b(2, 2) | lower();
  instruction const zeros = drop(p, 1, nth(p, 1, opcode::clear));
  CHECK(check(p).broken == rule::gradient_starts_from_zero);
  insert(p, 1, length(p, 1), zeros);  // after the sum
  CHECK(check(p).broken == rule::gradient_starts_from_zero);
}

TEST_CASE("groups and lanes of collectives") {
  program p = shared();
  for (int group : {-1, 4, 9}) {
    at(p, 0, nth(p, 0, opcode::all_gather)).group = group;
    CHECK(check(p).broken == rule::group_is_held_where_it_is_named);
  }
  p = shared();
  at(p, 0, nth(p, 0, opcode::all_gather)).group = 1;  // lives on device 1
  CHECK(check(p).broken == rule::group_is_held_where_it_is_named);
  p = shared();
  at(p, 0, nth(p, 0, opcode::all_reduce)).subject = slot_kind::weight_gradient;  // it lies in shards
  CHECK(check(p).broken == rule::group_is_held_where_it_is_named);
  p = shared();
  at(p, 0, nth(p, 0, opcode::release)).lane = compute_lane;
  CHECK(check(p).broken == rule::every_instruction_is_on_its_lane);
  p = shared();
  p.data_ranks = 0;
  CHECK(check(p).broken == rule::counts_are_positive);
}

// The walk over stages cannot see these faults of slots.
TEST_CASE("slots of weights and shards") {
  program p = shared(2);
  operand_of(p, 0, nth(p, 0, opcode::all_gather, 1), 0).slot =
      operand_of(p, 0, nth(p, 0, opcode::all_gather, 0), 0).slot;
  CHECK(check(p).broken == rule::no_slot_is_overwritten_before_its_last_read);

  p = shared(2);
  int const forward = nth(p, 0, opcode::compute);
  operand_of(p, 0, forward, at(p, 0, forward).operand_count - 1).slot =
      operand_of(p, 0, nth(p, 0, opcode::all_gather, 1), 0).slot;
  CHECK(check(p).broken == rule::slot_holds_what_is_read);

  p = shared(2);
  operand_of(p, 0, nth(p, 0, opcode::reduce_scatter, 0), 1).slot =
      operand_of(p, 0, nth(p, 0, opcode::reduce_scatter, 1), 1).slot;
  CHECK(check(p).broken == rule::slot_holds_what_is_read);
}

TEST_CASE("slots of the norm and optimizer steps") {
  program p = shared(2);
  operand_of(p, 0, nth(p, 0, opcode::optimize, 0), 0).slot =
      operand_of(p, 0, nth(p, 0, opcode::optimize, 1), 0).slot;
  CHECK(check(p).broken == rule::slot_holds_what_is_read);

  p = shared(2);  // it would not wait for the norm
  --at(p, 0, nth(p, 0, opcode::optimize)).operand_count;
  CHECK(check(p).broken == rule::slot_holds_what_is_read);

  p = shared(2);
  operand_of(p, 0, nth(p, 0, opcode::measure), 0).slot =
      operand_of(p, 0, nth(p, 0, opcode::measure), 1).slot;
  CHECK(check(p).broken == rule::slot_holds_what_is_read);
  p = shared(2);
  --at(p, 0, nth(p, 0, opcode::measure)).operand_count;
  CHECK(check(p).broken == rule::slot_holds_what_is_read);
}

// The replicas of two stages reduce in different orders; everyone meets for the norm.
TEST_CASE("collectives meet in the same order") {
  program p = lower(two_ways(2) | repeat(micro_batches{2}) | squeeze(),
                    {.reduction = gradient_reduction::at_end, .step = optimizer_step::after_norm});
  CHECK(check(p).ok());
  exchange(p, 1, nth(p, 1, opcode::all_reduce, 0), nth(p, 1, opcode::all_reduce, 1));
  CHECK(check(p).broken == rule::no_cycle_of_waits);
}

}  // namespace
