#include <ashlar/cost/step/memory.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"
#include "random_cases.hpp"

#include <doctest/doctest.h>

#include <vector>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::cost::testing {

TEST_CASE("memory: parameters of each sharding, by hand") {
  constants const c = round_constants();
  question q = asked(dense_model(4));
  double const held = 4 * (3 * 1024 * 1024 + 3 * 1024 * 4096.0) + 2 * 1024 * 32000;
  auto const only = [&] { return memory_of(q, stages_of(q), c)[0]; };
  CHECK(only().parameters == 2 * held);
  CHECK(only().gradients == 4 * held);
  CHECK(only().optimizer == 12 * held);
  q.layout.sharding = sharding::optimizer;
  CHECK(only().optimizer == 12 * held / 8);
  q.layout.sharding = sharding::full;
  CHECK(only().parameters + only().gradients + only().optimizer == 16 * held / 8);
  CHECK(only().gathered == 8 * (3 * 1024 * 1024 + 3 * 1024 * 4096.0));
}

TEST_CASE(
    "memory: shards over some ranks are as many times larger, and weights may lie there once more") {
  constants const c = round_constants();
  question q = asked(dense_model(4), 4);
  q.layout.sharding = sharding::full;
  auto const only = [&] { return memory_of(q, stages_of(q), c)[0]; };
  memory_parts const all = only();
  q.layout.shard_ranks = 8;
  CHECK(only().parameters == 4 * all.parameters);
  CHECK(only().gradients == 4 * all.gradients);
  CHECK(only().optimizer == 4 * all.optimizer);
  CHECK(only().activations == all.activations);
  q.layout.shard_ranks = 32;
  CHECK(only() == all);
  q.layout.weight_ranks = 8;  // in 16 bits: all.parameters are 4 bytes over 32 ranks
  CHECK(only().parameters == all.parameters + 2 * (all.parameters * 32 / 4) / 8);
  q.layout.weight_ranks = 0;
  q.layout.sharding = sharding::optimizer;
  memory_parts const shared = only();
  q.layout.shard_ranks = 8;
  CHECK(only().optimizer == 4 * shared.optimizer);
  CHECK(only().parameters == shared.parameters);
}

TEST_CASE("memory: weights that leave with all that is theirs take on the host what they took here") {
  constants const c = round_constants();
  question q = asked(dense_model(4));
  q.model.frozen.embedding = true;
  q.layout.sharding = sharding::full;
  memory_parts const here = memory_of(q, stages_of(q), c)[0];
  q.layout.offload.weights = offloaded_weights::own;
  q.layout.offload.optimizer = true;
  memory_parts const away = memory_of(q, stages_of(q), c)[0];
  CHECK(here.host == 0);
  CHECK(away.host == here.parameters + here.gradients + here.optimizer);
  CHECK(away.parameters + away.gradients + away.optimizer == 0);
}

TEST_CASE("memory: gradients that are shared beside a pipeline are whole where they are summed") {
  constants const c = round_constants();
  question q = asked(dense_model(24));
  q.model.vocabulary = 1;
  q.program.kind = program_kind::tuned;
  q.layout.pipeline = 2;
  q.layout.data = 4;
  double const each = 3 * 1024 * 1024 + 3 * 1024 * 4096.0;
  auto const held = [&](sharding shares, int chunks) {
    q.layout.sharding = shares;
    q.layout.chunks = chunks;
    return memory_of(q, stages_of(q), c)[0];
  };
  double const ends = 4 * padded_vocabulary(q.model, q.layout.tensor) * 1024;
  CHECK(held(sharding::gradients, 1) == held(sharding::optimizer, 1));
  memory_parts const whole = held(sharding::optimizer, 4), shared = held(sharding::gradients, 4);
  CHECK(whole.gradients == doctest::Approx(4 * 12 * each).epsilon(ends / (4 * 12 * each)));
  CHECK(shared.gradients
        == doctest::Approx(4 * (12 / 4.0 + 2 * 3) * each).epsilon(3 * ends / (4 * 9 * each)));
  CHECK(shared.parameters == whole.parameters);
  CHECK(shared.optimizer == whole.optimizer);
}

TEST_CASE("memory: what a layer keeps of a token, by hand") {
  constants const c = round_constants();
  question q = asked(dense_model(4));
  q.layout.context = 2;  // Megatron-Core
  q.layout.data = 4;
  double const norms = 2 * 4 * 1024, attention = 2 * (2 * 16 + 2 * 8) * 64 + 4 * 16;
  double const gated = 3 * 2 * 4096;
  CHECK(kept_bytes(q, q.model.kinds[0], recomputation::none, true, false, c)
        == norms + attention + gated);
  q.layout.tensor = 2;
  q.layout.data = 2;
  CHECK(kept_bytes(q, q.model.kinds[0], recomputation::none, true, false, c)
        == (norms + attention + gated) / 2);
}

TEST_CASE("memory: unfused attention keeps scores, unless they are made again") {
  constants const c = round_constants();
  question q = asked(dense_model(4));
  q.layout.context = 2;  // Megatron-Core
  q.layout.data = 4;
  auto const kept = [&](recomputation again) {
    return kept_bytes(q, q.model.kinds[0], again, true, false, c);
  };
  double const fused = kept(recomputation::none);
  auto const seconds = [&] {
    return passes_of_layer(q, q.model.kinds[0], recomputation::none, gradient_kind::all, c)
        .forward.attention;
  };
  double const fused_seconds = seconds();
  CHECK(unmeasured_in(q, {}).empty());
  q.program.attention = attention_kernel::unfused;
  CHECK(kept(recomputation::none) == fused + 5 * 16 * 2048);
  CHECK(kept(recomputation::attention) == fused);
  CHECK(seconds() > fused_seconds);
  CHECK(unmeasured_in(q, {}) == std::vector{unmeasured::attention});
  q.program.attention = attention_kernel::fused;
  CHECK(kept(recomputation::none) == fused);
  CHECK(unmeasured_in(q, {}).empty());
}

TEST_CASE(
    "memory: logits and losses of further tokens are where the head is, wherever their layers are") {
  question q = asked(dense_model(4));
  q.layout.pipeline = 4;
  q.layout.data = 1;
  q.model.predictions = 3;
  constants const c = round_constants();
  auto const of_last = [&](std::string_view layout) {
    q.layout.stages = read_layout(layout, q.model.predictions);
    return needs_of(q, stages_of(q), false, c).back().logits;
  };
  auto const head_of = [&](std::size_t s) { return passes_of(q, stages_of(q), c)[s].forward.bytes; };
  double const together = of_last("Et|tt|t|mmmL");
  CHECK(of_last("Et|tt|tmmm|L") == doctest::Approx(together));
  CHECK(needs_of(q, stages_of(q), false, c)[2].logits == 0);
  double const apart = head_of(3), with_layers = head_of(2);
  q.layout.stages = read_layout("Et|tt|tL", q.model.predictions);
  q.layout.pipeline = 3;
  q.model.predictions = 0;
  double const one_layer =
      passes_of_layer(q, q.model.at(0), recomputation::none, gradient_kind::all, c).forward.bytes;
  double const one_loss = passes_of_head(q, c).forward.bytes;
  CHECK(apart == doctest::Approx(4 * one_loss));
  CHECK(with_layers == doctest::Approx(4 * one_layer));
  CHECK(together == doctest::Approx(4 * of_last("Et|tt|tL")));
}

TEST_CASE("memory: micro-batches in flight") {
  question q = asked(dense_model(32));
  q.layout.pipeline = 4;
  q.layout.data = 2;
  q.batch = 64;  // 32 micro-batches
  for (int d = 0; d < 4; ++d) CHECK(in_flight(q, d) == std::vector<int>{4 - d});
  q.layout.chunks = 2;
  CHECK(in_flight(q, 0) == std::vector<int>{7, 4});
  CHECK(in_flight(q, 3) == std::vector<int>{4, 1});
  q.batch = 4;
  CHECK(in_flight(q, 0) == std::vector<int>{4, 0});
}

TEST_CASE("memory: it grows with the micro-batch, and recomputation takes less") {
  random_case::dice roll(5);
  constants const c = round_constants();
  for (int i = 0; i < random_cases(400); ++i) {
    question q = random_question(roll);
    if (stack_of(q).is_plain) continue;  // decides by what fits
    double const before = peak_bytes(memory_of(q, stages_of(q), c));
    CHECK(before > 0);
    question larger = q;
    larger.layout.micro_batch *= 2;
    larger.batch *= 2;
    CHECK(peak_bytes(memory_of(larger, stages_of(larger), c)) >= before);
    question more = q;
    more.model.vocabulary *= 2;
    CHECK(peak_bytes(memory_of(more, stages_of(more), c)) >= before);
  }
}

}  // namespace ashlar::cost::testing
