// Parts before the decoder: layers cost there what they cost in it.
#include "predicted_runs.hpp"

#include <doctest/doctest.h>

#include <cstddef>

namespace ashlar::cost::testing {

namespace {

// A random question that towers allow, with at least two layers of the decoder.
question random_run(random_case::dice& roll) {
  for (;;) {
    question q = random_question(roll);
    if (q.layout.context == 1 && q.model.layer_count() > 2) return q;
  }
}

// The model with its first layers in a tower of as many tokens as a sequence.
architecture with_tower(architecture a, int count) {
  tower t{.name = "first", .hidden = a.hidden, .kinds = a.kinds};
  t.layers.assign(a.layers.begin(), a.layers.begin() + count);
  a.layers.erase(a.layers.begin(), a.layers.begin() + count);
  a.towers.push_back(std::move(t));
  return a;
}

tower encoder(double tokens) {
  tower t{.name = "encoder", .hidden = 768, .tokens = tokens, .kinds = dense_model(1, 768).kinds};
  t.kinds[0].mix.sees_all = true;
  t.layers.assign(6, 0);
  return t;
}

double operations(question const& q) { return step_operations(q.model, q.sequence, q.batch); }

}  // namespace

TEST_CASE("towers: layers cost as much in a tower as in the decoder") {
  random_case::dice roll(77);
  constants const c = round_constants();
  for (int round = 0; round < 60; ++round) {
    question q = random_run(roll);
    q.layout.pipeline = q.layout.chunks = 1;
    q.cluster.kinds.front().devices = q.layout.tensor * q.layout.data;
    q.batch = q.layout.micro_batch * q.layout.data * 4;
    q.layout.offload = {};
    q.program.kind = stack_of(q).program;  // what it is guessed from has moved
    question moved = q;
    moved.model = with_tower(q.model, roll.between(1, q.model.layer_count() - 1));
    try {
    } catch (unpredictable const&) {
      continue;
    }
    CHECK(parameters(moved.model) == parameters(q.model));
    CHECK(operations(moved) == doctest::Approx(operations(q)).epsilon(1e-12));
    CHECK(step_seconds(moved, c) == doctest::Approx(step_seconds(q, c)).epsilon(1e-12));
    CHECK(peak_bytes(memory_of(moved, stages_of(moved), c))
          == doctest::Approx(peak_bytes(memory_of(q, stages_of(q), c))).epsilon(1e-12));
  }
}

TEST_CASE("towers: one without layers and products changes nothing") {
  random_case::dice roll(78);
  constants const c = round_constants();
  for (int round = 0; round < 40; ++round) {
    question const q = random_run(roll);
    question other = q;
    other.model.towers.push_back({.name = "none", .hidden = 64, .tokens = 7});
    CHECK(operations(other) == operations(q));
    CHECK(step_seconds(other, c) == step_seconds(q, c));
    CHECK(peak_bytes(memory_of(other, stages_of(other), c))
          == peak_bytes(memory_of(q, stages_of(q), c)));
  }
}

TEST_CASE("towers: operations are linear in inputs, and in tokens but for attention") {
  random_case::dice roll(79);
  for (int round = 0; round < 40; ++round) {
    question const none = random_run(roll);
    auto const added = [&](double tokens, int inputs, bool attends) {
      question q = none;
      tower t = encoder(tokens);
      t.inputs = inputs;
      t.products.push_back({.inner = 768, .columns = none.model.hidden});
      if (!attends) t.kinds[0].mix.window = 1;
      q.model.towers.push_back(t);
      return operations(q) - operations(none);
    };
    CHECK(added(500, 3, true) == doctest::Approx(3 * added(500, 1, true)));
    CHECK(added(1000, 1, true) > 2 * added(500, 1, true));
    CHECK(added(1000, 1, true) - 2 * added(500, 1, true)
          == doctest::Approx(3.0 * 4 * 6 * 12 * 64 * (1000.0 * 1000 - 2 * 500.0 * 500) * none.batch));
    CHECK(added(1000, 1, false) == doctest::Approx(2 * added(500, 1, false)).epsilon(1e-3));
  }
}

}  // namespace ashlar::cost::testing
