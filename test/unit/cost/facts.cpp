#include <ashlar/cost/question/facts.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"
#include "random_cases.hpp"
#include <ashlar/cost/step/exchanges.hpp>
#include <ashlar/cost/step/kernels.hpp>
#include <ashlar/cost/step/once_a_step.hpp>
#include <ashlar/cost/step/work.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::cost::testing {

namespace {

template <class Value>
question with(question q, fact which, Value value) {
  q.program.facts.say(which, static_cast<unsigned char>(value));
  return q;
}

question with(question q, fact_number which, double value) {
  q.program.facts.say(which, value);
  return q;
}

// Experts on eight ranks, two each.
question routed() {
  question q = asked(routed_model(5));
  q.layout.expert = 8;
  q.layout.sharding = sharding::optimizer;
  q.program.kind = program_kind::tuned;
  return q;
}

layer_work work_of_experts(question const& q) { return work_of(q, q.model.kinds[1]); }

double peak_of(question const& q, constants const& c) {
  return peak_bytes(memory_of(q, stages_of(q), c));
}

}  // namespace

TEST_CASE(
    "facts: the busiest rank has a multiple of the mean of tokens, and no more than its capacity") {
  question const q = routed();
  layer_work const even = work_of_experts(q);
  auto const rows = [](layer_work const& w) { return w.products[3].m; };  // behind attention, router
  REQUIRE(even.products[3].count == 2);
  for (double factor : {1.25, 3.0}) {
    question const busy = with(q, fact_number::imbalance, factor);
    layer_work const w = work_of_experts(busy);
    CHECK(rows(w) == doctest::Approx(factor * rows(even)));
    CHECK(w.expert_bytes == doctest::Approx(factor * even.expert_bytes));
    // An activation (3) and four moves of what comes in.
    double const received = 2048 * 2, wider = factor - 1;
    CHECK(w.forward_bytes - even.forward_bytes
          == doctest::Approx(2 * received * wider * (3 * 512 + 4 * 1024)));
    // Inputs, gates, values and the result of the activation, in 16 bits.
    CHECK(kept_by_stage(busy, stages_of(busy), false, round_constants())[0].bytes
              - kept_by_stage(q, stages_of(q), false, round_constants())[0].bytes
          == doctest::Approx(4 * wider * received * 2 * (1024 + 3 * 512)));
    CHECK(rows(work_of_experts(with(busy, fact_number::capacity, 1.1)))
          == doctest::Approx(1.1 * rows(even)));
  }
  // Dropped tokens are not sent, either.
  layer_work const half = work_of_experts(with(q, fact_number::capacity, 0.5));
  CHECK(rows(half) == doctest::Approx(0.5 * rows(even)));
  CHECK(even.forward_bytes - half.forward_bytes
        == doctest::Approx(2 * 0.5 * 4096 * (3 * 512 + 8 * 1024)));
  CHECK(rows(work_of_experts(with(q, fact_number::capacity, 2))) == rows(even));
}

TEST_CASE("facts: all ranks gather all tokens, or send copies to the chosen experts") {
  constants const c = round_constants();
  question const q = with(routed(), fact::expert_dispatch, token_dispatch::all_gather);
  auto const seconds = [&](question const& asked) {
    return expert_seconds(asked, work_of_experts(asked), asked.model.kinds[1].feed, c);
  };
  double const token_bytes = 2048 * 1024 * 2.0;
  CHECK(seconds(q) == doctest::Approx(2 * (7 * token_bytes / 200e9 + latency_seconds(8, c))));
  CHECK(seconds(with(q, fact_number::imbalance, 4)) == doctest::Approx(seconds(q)));
  CHECK(seconds(with(q, fact::expert_dispatch, token_dispatch::all_to_all)) < seconds(q));
}

TEST_CASE("facts: experts are launched together, one by one, or as one product that shares a wave") {
  constants c = round_constants();
  question const q = routed();
  auto const host = [&](expert_kernels how) {
    return passes_of_layer(with(q, fact::expert_products, how), q.model.kinds[1], recomputation::none,
                           gradient_kind::all, c)
        .forward.host;
  };
  double const both = 2 * c.host + c.host_expert;
  CHECK(host(expert_kernels::grouped) == doctest::Approx(both + 2 * c.host_each_expert));
  CHECK(host(expert_kernels::loop) == doctest::Approx(both + 2 * c.host));
  CHECK(host(expert_kernels::single) == doctest::Approx(both));
  product p{.m = 512, .n = 1024, .k = 1024, .count = 4};
  double const apart = product_seconds(hopper(), 500e12, p, 2, c);
  p.is_one_kernel = true;
  CHECK(apart - product_seconds(hopper(), 500e12, p, 2, c)
        == doctest::Approx(3 * 2 * 1024 * c.wave * 128 * 256 * 132 / 500e12));
}

TEST_CASE(
    "facts: without its kernel, a sum of copies is read and written for each, a norm moves 20 and 45") {
  question q = routed();
  layer_work const fused = work_of_experts(q),
                   apart = work_of_experts(with(q, fact::fused_permutation, is_off));
  CHECK(apart.forward_bytes - fused.forward_bytes == doctest::Approx(2.0 * 4096 * 1024));
  CHECK(apart.backward_bytes - fused.backward_bytes == doctest::Approx(2.0 * 4096 * 1024));
  layer_work const norms = work_of_experts(with(q, fact::fused_norm, is_off));
  CHECK(norms.forward_bytes - fused.forward_bytes == doctest::Approx(2 * 16 * 2.0 * 2048 * 1024));
  CHECK(norms.backward_bytes - fused.backward_bytes == doctest::Approx(2 * 39 * 2.0 * 2048 * 1024));
  auto const kept = [&](recomputation again, unsigned char value) {
    return kept_bytes(with(q, fact::fused_norm, value), q.model.kinds[1], again, true, false,
                      round_constants());
  };
  CHECK(kept(recomputation::none, is_off) - kept(recomputation::none, is_on) == 2 * 4 * 1024);
  CHECK(kept(recomputation::norms, is_off) == kept(recomputation::norms, is_on));
}

TEST_CASE(
    "facts: an exchange is hidden by the shared expert at most, and by nothing where there is none") {
  constants const c = round_constants();
  question q = routed();
  auto const exposed = [&](expert_exchange how) {
    return passes_of_layer(with(q, fact::expert_overlap, how), q.model.kinds[1], recomputation::none,
                           gradient_kind::all, c)
        .forward.expert;
  };
  layer_work const shared = shared_expert_work(q, q.model.kinds[1].feed);
  double const beside =
      products_seconds(q, shared.products, c).forward + bytes_seconds(q, shared, c).forward;
  double const all = exposed(expert_exchange::in_the_way);
  REQUIRE(beside > 0);
  CHECK(exposed(expert_exchange::beside_shared)
        == doctest::Approx(std::fmax(all - beside, all * 20 / 132)));
  CHECK(exposed(expert_exchange::beside_others) <= exposed(expert_exchange::beside_shared));
  for (layer& each : q.model.kinds) each.feed.shared_width = 0;
  CHECK(exposed(expert_exchange::beside_shared) == exposed(expert_exchange::in_the_way));
}

TEST_CASE(
    "facts: messages one by one take twice as long as with those that come back, or no time of passes") {
  constants const c = round_constants();
  question q = asked(dense_model(8));
  q.layout.pipeline = 4;
  q.layout.data = 2;
  auto const transfer = [&](message how, bool forward) {
    question const asked = with(q, fact::transfers, how);
    stage_passes const p = passes_of(asked, stages_of(asked), c)[1];
    return forward ? p.forward.transfer : p.backward.transfer;
  };
  double const one = 2048 * 1024 * 2 / 200e9 + c.latency;
  for (bool forward : {true, false}) {
    CHECK(transfer(message::batched, forward) == doctest::Approx(one));
    CHECK(transfer(message::single, forward) == doctest::Approx(2 * one));
    CHECK(transfer(message::beside, forward) == 0);
  }
  CHECK(stack_of(q).facts.transfers() == message::batched);
  q.layout.chunks = 2;
  CHECK(stack_of(q).facts.transfers() == message::beside);
  CHECK(transfer(message::batched, true) == doctest::Approx(one));
}

TEST_CASE("facts: each bucket has a latency, and the last one's sum is hidden by nothing") {
  constants const c = round_constants();
  question q = asked(dense_model(4));
  q.layout.sharding = sharding::optimizer;
  q.program.kind = program_kind::tuned;
  parameter_counts const held{.dense = 1e9};
  auto const data = [&](double bucket, bool overlaps, double beside) {
    question const asked = with(with(q, fact::data_overlap, overlaps), fact_number::bucket, bucket);
    return once_on(asked, held, {.forward = beside, .backward = beside}, 1, c).data;
  };
  double const latency = latency_seconds(8, c), sums = 4e9 * 7 / 8 / 200e9, gathers = sums / 2;
  CHECK(data(0, false, 1) == doctest::Approx(latency + sums + gathers));
  CHECK(data(1e8, false, 1) == doctest::Approx(latency + sums + gathers + 2 * 9 * latency));
  // One bucket is hidden by nothing; of four, a half is lost to contention in any case.
  CHECK(data(1e12, true, 100) == doctest::Approx(data(0, false, 100)));
  constants free = c;
  free.data_exposed = 1e-6;
  for (double buckets : {2, 4, 50}) {
    question const asked = with(with(q, fact::data_overlap, is_on), fact_number::bucket, 1e9 / buckets);
    CHECK(once_on(asked, held, {.forward = 100, .backward = 100}, 1, free).data
          == doctest::Approx(latency + (sums + gathers) / buckets));
    CHECK(once_on(asked, held, {}, 1, free).data
          == doctest::Approx(latency + sums + gathers + 2 * (buckets - 1) * latency));
  }
}

TEST_CASE("facts: scales of earlier steps and of blocks take no search for the largest element") {
  constants const c = round_constants();
  question q = asked(dense_model(4));
  q.program.format = number_format::fp8;
  layer_work w;
  w.quantised_forward = 1e9;
  auto const bytes = [&](scaling how) {
    return bytes_seconds(with(q, fact::scales, how), w, c).forward * memory_rate(hopper(), c) / 1e9;
  };
  CHECK(bytes(scaling::current) == doctest::Approx(6));
  CHECK(bytes(scaling::delayed) == doctest::Approx(4));
  CHECK(bytes(scaling::blocks) == doctest::Approx(4 + 2 * 4 / 128.0));
}

TEST_CASE("facts: bytes of the optimizer, held and moved, by the formats of its weights and moments") {
  constants const c = round_constants();
  question q = asked(dense_model(4));
  double const held = 4 * (3 * 1024 * 1024 + 3 * 1024 * 4096.0) + 2 * 1024 * 32000;
  auto const optimizer = [&](weights_held weights, moment_held mean, moment_held square) {
    question const asked = with(with(with(q, fact::main_weights, weights), fact::first_moment, mean),
                                fact::second_moment, square);
    once_a_step const once = once_on(asked, {.dense = held}, {}, 1, c);
    return std::pair{memory_of(asked, stages_of(asked), c)[0].optimizer / held,
                     once.optimizer * memory_rate(hopper(), c) / held};
  };
  using enum moment_held;
  auto const is = [&](std::pair<double, double> found, double bytes, double moved) {
    CHECK(found.first == doctest::Approx(bytes));
    CHECK(found.second == doctest::Approx(moved));
  };
  is(optimizer(weights_held::bits_32, bits_32, bits_32), 12, 30);
  is(optimizer(weights_held::rest, bits_32, bits_32), 10, 28);  // reads both halves, writes both
  is(optimizer(weights_held::bits_16, bits_32, bits_32), 10, 26);
  is(optimizer(weights_held::bits_32, bits_16, bits_16), 8, 22);
  is(optimizer(weights_held::rest, bits_8, bits_16), 5, 18);
  is(optimizer(weights_held::bits_32, bits_4, bits_4), 5 + 8 / 128.0, 16 + 16 / 128.0);
  // Shards of FSDP are the optimizer's own weights.
  q.layout.sharding = sharding::full;
  for (auto const& [weights, bytes] :
       {std::pair{weights_held::bits_32, 16}, {weights_held::rest, 16}, {weights_held::bits_16, 12}}) {
    memory_parts const m = memory_of(with(q, fact::main_weights, weights), stages_of(q), c)[0];
    CHECK((m.parameters + m.gradients + m.optimizer) * 8 / held == doctest::Approx(bytes));
  }
}

TEST_CASE("facts: laws of any run") {
  constants const c = round_constants();
  random_case::dice roll(15);
  for (int i = 0; i < 300; ++i) {
    question q = random_question(roll);
    if (roll.percent(30)) q.program.kind = static_cast<program_kind>(roll.between(1, 6));
    // A fact that says the default changes nothing.
    fact_values const usual = stack_of(q).facts;
    question said = q;
    said.program.facts.of = usual.of;
    CHECK(step_seconds(said, c) == step_seconds(q, c));
    CHECK(peak_of(said, c) == peak_of(q, c));
    auto const never_less = [&](question const& less, question const& more) {
      CHECK(step_seconds(less, c) <= step_seconds(more, c) * (1 + 1e-12));
      // A plain program gathers inputs again where they do not fit.
      if (!stack_of(q).is_plain) CHECK(peak_of(less, c) <= peak_of(more, c) * (1 + 1e-12));
    };
    double const factor = 1 + roll.between(1, 30) / 10.0;
    question const busy = with(q, fact_number::imbalance, factor);
    never_less(q, busy);
    never_less(busy, with(q, fact_number::imbalance, factor + 1));
    never_less(with(busy, fact_number::capacity, factor / 2), busy);
    never_less(with(q, fact::fused_norm, is_on), with(q, fact::fused_norm, is_off));
    never_less(with(q, fact::fused_permutation, is_on), with(q, fact::fused_permutation, is_off));
    never_less(with(q, fact::expert_products, expert_kernels::single),
               with(q, fact::expert_products, expert_kernels::loop));
    never_less(with(q, fact::transfers, message::batched), with(q, fact::transfers, message::single));
    never_less(with(q, fact::first_moment, moment_held::bits_4),
               with(q, fact::first_moment, moment_held::bits_8));
    never_less(with(q, fact::first_moment, moment_held::bits_8),
               with(q, fact::first_moment, moment_held::bits_16));
    never_less(with(q, fact::main_weights, weights_held::bits_16),
               with(q, fact::main_weights, weights_held::bits_32));
    // One bucket is summed after all passes.
    question const whole = with(q, fact_number::bucket, 1e15);
    CHECK(step_seconds(with(whole, fact::data_overlap, is_on), c)
          == doctest::Approx(step_seconds(with(whole, fact::data_overlap, is_off), c)));
  }
}

TEST_CASE("facts: numbers out of their range are refused") {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  for (auto const& [which, value] : {std::pair{fact_number::imbalance, 0.5},
                                     {fact_number::imbalance, nan},
                                     {fact_number::capacity, -1.0},
                                     {fact_number::bucket, 1e16}}) {
    requirement broken = requirement::sizes_are_positive;
    try {
      check(with(routed(), which, value));
    } catch (unpredictable const& e) {
      broken = e.broken;
    }
    CHECK(broken == requirement::fact_is_in_range);
  }
}

}  // namespace ashlar::cost::testing
