#include <ashlar/cost/question/question.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"
#include "random_cases.hpp"
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/cost/question/stack.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <utility>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::cost::testing {

namespace {

bool is_refused(question const& q, requirement what) {
  try {
    check(q);
  } catch (unpredictable const& e) {
    return e.broken == what;
  }
  return false;
}

}  // namespace

TEST_CASE("question: sizes must go together") {
  question const good = asked(dense_model(8), 2);
  CHECK_NOTHROW(check(good));
  auto const changed = [&](auto change) {
    question q = good;
    change(q);
    return q;
  };
  CHECK(is_refused(changed([](question& q) { q.layout.data = 0; }), requirement::sizes_are_positive));
  CHECK(is_refused(changed([](question& q) { q.batch = -5; }), requirement::sizes_are_positive));
  CHECK(is_refused(changed([](question& q) { q.layout.data = 8; }), requirement::ranks_are_all_devices));
  CHECK(is_refused(changed([](question& q) { q.batch = 63; }), requirement::batch_divides));
  CHECK(is_refused(changed([](question& q) { q.cluster.kinds.front().devices = q.layout.data = 12; }),
                   requirement::nodes_are_full));
  CHECK(is_refused(changed([](question& q) { q.layout.chunks = 2; }),
                   requirement::chunks_need_a_pipeline));
  CHECK(is_refused(changed([](question& q) { q.layout.expert = 2; }), requirement::experts_divide));
  CHECK(is_refused(changed([](question& q) {
                     q.model = dense_model(2, 192);
                     q.layout.tensor = 2;
                     q.layout.data = 8;
                   }),
                   requirement::heads_divide));
  CHECK(is_refused(changed([](question& q) {
                     q.layout.context = 16;
                     q.layout.data = 1;
                     q.sequence = 2047;
                   }),
                   requirement::context_divides_the_sequence));
  CHECK(is_refused(changed([](question& q) {
                     q.layout.tensor = q.layout.pipeline = q.layout.context = q.layout.data = 1 << 30;
                   }),
                   requirement::sizes_are_small_enough));
}

TEST_CASE("question: a step has up to 1e15 tokens") {
  question q = asked(dense_model(2));
  q.sequence = 1'000'000;
  q.batch = 1'000'000'000;
  CHECK_FALSE(is_refused(q, requirement::sizes_are_small_enough));
  ++q.batch;
  CHECK(is_refused(q, requirement::sizes_are_small_enough));
}

// Bytes, bandwidths and shares, each in its own unit.
TEST_CASE("question: figures of a machine are above 0, some are 0, and none is beyond 1e30") {
  auto const is_possible = [](double machine::*figure, double value) {
    question q = asked(dense_model(2));
    q.cluster.device().*figure = value;
    return !is_refused(q, requirement::machine_is_whole);
  };
  auto const is_possible_on_host = [](double host_side::*figure, double value) {
    question q = asked(dense_model(2));
    q.cluster.device().host = {.link = 1, .memory_bytes = 1, .memory_bandwidth = 1};
    q.cluster.device().host.*figure = value;
    return !is_refused(q, requirement::machine_is_whole);
  };
  for (auto const figure : {&machine::memory_bytes, &machine::memory_bandwidth, &machine::inside,
                            &machine::outside, &machine::units, &machine::exponentials, &machine::power,
                            &machine::products, &machine::exchange, &machine::pair}) {
    bool const may_be_none =
        figure == &machine::products || figure == &machine::exchange || figure == &machine::pair;
    CHECK(is_possible(figure, 0) == may_be_none);
    CHECK((is_possible(figure, 0.5) && is_possible(figure, 9e29)));
    CHECK_FALSE((is_possible(figure, -0.5) || is_possible(figure, 1e30)));
  }
  for (auto const figure : {&host_side::link, &host_side::memory_bytes, &host_side::memory_bandwidth}) {
    CHECK((is_possible_on_host(figure, 0.5) && is_possible_on_host(figure, 9e29)));
    CHECK_FALSE((is_possible_on_host(figure, 0) || is_possible_on_host(figure, 1e30)));
  }
}

TEST_CASE("question: ranks that share divide the others, and have all experts") {
  auto const broken_by = [](architecture model, sharding shares, int ranks, int weights,
                            int expert = 1) {
    question q = asked(std::move(model), 2);
    q.layout.sharding = shares;
    q.layout.shard_ranks = ranks;
    q.layout.weight_ranks = weights;
    q.layout.expert = expert;
    try {
      check(q);
    } catch (unpredictable const& e) {
      return e.broken;
    }
    return requirement::something_trains;
  };
  constexpr requirement none = requirement::something_trains;
  CHECK(broken_by(dense_model(2), sharding::full, 8, 4) == none);
  CHECK(broken_by(dense_model(2), sharding::optimizer, 16, 0) == none);
  CHECK(broken_by(dense_model(2), sharding::full, 3, 0) == requirement::shards_divide_the_ranks);
  CHECK(broken_by(dense_model(2), sharding::full, 32, 0) == requirement::shards_divide_the_ranks);
  CHECK(broken_by(dense_model(2), sharding::none, 8, 0) == requirement::shards_need_sharding);
  CHECK(broken_by(dense_model(2), sharding::full, 8, 16) == requirement::weights_divide_the_shards);
  CHECK(broken_by(dense_model(2), sharding::gradients, 0, 8) == requirement::weights_divide_the_shards);
  CHECK(broken_by(dense_model(2), sharding::full, -1, 0) == requirement::sizes_are_positive);
  CHECK(broken_by(routed_model(2), sharding::full, 4, 0, 4) == none);
  CHECK(broken_by(routed_model(2), sharding::full, 4, 0, 8) == requirement::shards_have_every_expert);
}

TEST_CASE("question: what is no number is refused") {
  double const wrong[] = {std::numeric_limits<double>::quiet_NaN(),
                          std::numeric_limits<double>::infinity(), -1, 1e300};
  for (double each : wrong) {
    question q = asked(dense_model(2));
    q.model.hidden = each;
    CHECK(is_refused(q, requirement::model_is_whole));
    q = asked(dense_model(2));
    q.model.kinds[0].feed.width = each;
    CHECK(is_refused(q, requirement::model_is_whole));
    q = asked(dense_model(2));
    q.cluster.device().memory_bandwidth = each;
    CHECK(is_refused(q, requirement::machine_is_whole));
  }
  question q = asked(dense_model(2));
  q.model.layers.push_back(7);
  CHECK(is_refused(q, requirement::model_is_whole));
  q.model.layers.clear();
  CHECK(is_refused(q, requirement::model_is_whole));
}

TEST_CASE("question: the assumed program does not depend on the order of passes") {
  random_case::dice roll(1);
  for (int i = 0; i < random_cases(300); ++i) {
    question q = random_question(roll);
    q.program.kind = program_kind::automatic;
    q.layout.chunks = 1;
    program_kind const assumed = stack_of(q).program;
    q.layout.chunks = 2;
    CHECK(stack_of(q).program == assumed);
    q.layout.order = catalog::find_any("v-half");
    CHECK(stack_of(q).program == assumed);
  }
}

TEST_CASE("question: operations of a step, by hand") {
  question q = asked(dense_model(2));
  q.batch = 8;
  double const met = 2 * (3 * 1024 * 1024 + 3 * 1024 * 4096.0) + 1024 * 32000;
  double const attention = 2 * 4 * 1024 * 1024;  // layers, of half of the sequence
  CHECK(step_operations(q.model, q.sequence, q.batch) == (6 * met + 3 * attention) * 8 * 2048);
}

TEST_CASE("question: a window and a chunk are seen in part") {
  question q = asked(dense_model(1));
  q.sequence = 4096;
  CHECK(attention_span(q.sequence, {}) == 2048);
  CHECK(attention_span(q.sequence, {.window = 4096}) == 2048);
  CHECK(attention_span(q.sequence, {.window = 1024}) == 1024 - 128);
  CHECK(attention_span(q.sequence, {.chunk = 1024}) == 512);
  CHECK(attention_span(q.sequence, {.chunk = 8192}) == 2048);
}

TEST_CASE("question: an encoder's queries see what is behind them, too") {
  int const sequence = 64;
  auto const counted = [&](double window, double chunk) {
    double seen = 0;  // between the middles of tokens, as causal attention sees half of the sequence
    for (int i = 0; i < sequence; ++i)
      for (int j = 0; j < sequence; ++j) {
        double const apart = i < j ? j - i : i - j;
        bool const is_near = window == 0 || apart <= window / 2,
                   is_inside = chunk == 0 || i / static_cast<int>(chunk) == j / static_cast<int>(chunk);
        bool const is_at_end = window > 0 && apart >= window / 2;
        if (is_near && is_inside) seen += is_at_end ? 0.5 : 1;
      }
    return seen / sequence;
  };
  CHECK(attention_span(sequence, {.sees_all = true}) == counted(0, 0));
  CHECK(attention_span(sequence, {.chunk = 16, .sees_all = true}) == counted(0, 16));
  CHECK(attention_span(sequence, {.window = 16, .sees_all = true})
        == doctest::Approx(counted(16, 0)).epsilon(0.01));
}

TEST_CASE("question: the table is padded for tensor ranks") {
  question q = asked(dense_model(1));
  q.model.vocabulary = 50257;
  CHECK(padded_vocabulary(q.model, q.layout.tensor) == 50304);
  q.layout.tensor = 8;
  CHECK(padded_vocabulary(q.model, q.layout.tensor) == 51200);
}

}  // namespace ashlar::cost::testing
