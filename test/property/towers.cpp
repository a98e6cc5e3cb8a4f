// Parts before the decoder: layers cost there what they cost in it.
#include "predicted_runs.hpp"
#include <ashlar/cost/question/towers.hpp>
#include <ashlar/cost/step/memory.hpp>
#include <ashlar/cost/step/passes.hpp>
#include <ashlar/cost/step/tower_passes.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

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

namespace {

// A decoder with a tower and what leads from it; some of all that frozen.
architecture seeing(random_case::dice& roll) {
  architecture a = dense_model(8);
  tower eye = encoder(577), bridge{.name = "bridge", .tokens = 576, .continues = true};
  eye.is_frozen = roll.percent(50);
  eye.inputs = bridge.inputs = roll.between(1, 3);
  eye.products.push_back({.rows = 576, .inner = 588, .columns = 768, .is_ahead = true});
  bridge.products.push_back({.rows = 576, .inner = 768, .columns = a.hidden, .has_bias = true});
  bridge.is_frozen = roll.percent(30);
  a.towers = {eye, bridge};
  if (roll.percent(40))
    a.frozen = {.embedding = true, .head = false, .layers = std::vector<bool>(8, true)};
  return a;
}

// Runs of the same data ranks with one stage and with `pipeline`; nothing is sharded.
question staged(architecture const& a, int pipeline, int tensor) {
  question q = asked(a);
  q.program.kind = program_kind::tuned;
  q.layout.micro_batch = 2;
  q.layout.tensor = tensor;
  q.layout.pipeline = pipeline;
  q.layout.data = 2;
  q.cluster.kinds.front().devices = q.layout.tensor * q.layout.data * pipeline;
  q.batch = 32;
  return q;
}

struct sums {
  double forward = 0, backward = 0, dense = 0, trained = 0, kept = 0;
};

sums over_stages(question const& q, constants const& c) {
  std::vector<stage> const stages = stages_of(q);
  sums all;
  for (stage_passes const& each : passes_of(q, stages, c)) {
    all.forward += each.forward.on_device();
    all.backward += each.backward.on_device();
  }
  for (stage_needs const& each : needs_of(q, stages, false, c)) {
    all.dense += each.held.all.dense;
    all.trained += each.held.trained.dense;
    all.kept += each.kept;
  }
  return all;
}

}  // namespace

TEST_CASE("towers: parts of all stages are those of one, and towers are on the first alone") {
  random_case::dice roll(80);
  constants const c = round_constants();
  for (int round = 0; round < 60; ++round) {
    architecture const a = seeing(roll);
    int const tensor = 1 << roll.between(0, 2), pipeline = 1 << roll.between(0, 3);
    question const whole = staged(a, 1, tensor), q = staged(a, pipeline, tensor);
    sums const one = over_stages(whole, c), all = over_stages(q, c);
    CHECK(all.forward == doctest::Approx(one.forward).epsilon(1e-12));
    CHECK(all.backward == doctest::Approx(one.backward).epsilon(1e-12));
    CHECK(all.dense == doctest::Approx(one.dense).epsilon(1e-12));
    CHECK(all.trained == doctest::Approx(one.trained).epsilon(1e-12));
    CHECK(all.kept == doctest::Approx(one.kept).epsilon(1e-12));

    question blind = q;
    blind.model.towers.clear();
    // Layers behind one that trains have gradients of their inputs, as beside a trained embedding.
    if (a.frozen.embedding && a.first_trained() == 0) continue;
    auto const seen = passes_of(q, stages_of(q), c), unseen = passes_of(blind, stages_of(q), c);
    for (std::size_t i = 1; i < seen.size(); ++i) CHECK(seen[i].seconds() == unseen[i].seconds());
    CHECK(seen[0].forward.products > unseen[0].forward.products);
    auto const held = memory_of(q, stages_of(q), c), without = memory_of(blind, stages_of(q), c);
    for (std::size_t i = 1; i < held.size(); ++i) CHECK(held[i] == without[i]);
    CHECK(held[0].parameters > without[0].parameters);
  }
}

TEST_CASE("towers: a frozen one has neither gradients nor state, and no pass of its own back") {
  constants const c = round_constants();
  random_case::dice roll(81);
  for (int pipeline : {1, 2, 4}) {
    architecture a = seeing(roll);
    a.frozen = {};
    a.towers[0].is_frozen = a.towers[1].is_frozen = true;
    question const frozen = staged(a, pipeline, 1);
    question blind = frozen;
    blind.model.towers.clear();
    auto const seen = passes_of(frozen, stages_of(frozen), c),
               unseen = passes_of(blind, stages_of(frozen), c);
    CHECK(seen[0].backward.on_device() == unseen[0].backward.on_device());
    auto const held = memory_of(frozen, stages_of(frozen), c),
               without = memory_of(blind, stages_of(frozen), c);
    CHECK(held[0].gradients == doctest::Approx(without[0].gradients).epsilon(1e-12));
    CHECK(held[0].optimizer == doctest::Approx(without[0].optimizer).epsilon(1e-12));
    CHECK(held[0].activations == doctest::Approx(without[0].activations).epsilon(1e-12));
    a.towers[0].is_frozen = a.towers[1].is_frozen = false;
    question const trained = staged(a, pipeline, 1);
    auto const more = memory_of(trained, stages_of(trained), c);
    CHECK(more[0].gradients > held[0].gradients);
    CHECK(more[0].optimizer > held[0].optimizer);
    CHECK(more[0].activations > held[0].activations);
  }
}

TEST_CASE("towers: each context rank runs all of them, and divides the decoder's tokens") {
  constants const c = round_constants();
  random_case::dice roll(82);
  architecture a = seeing(roll);
  question const one = staged(a, 1, 1);
  question two = one, blind = one;
  two.layout.context = 2;
  two.cluster.kinds.front().devices *= 2;
  check(two);
  for (std::size_t i = 0; i < a.towers.size(); ++i) {
    CHECK(passes_of_tower(two, i, c).seconds() == passes_of_tower(one, i, c).seconds());
    CHECK(kept_of_tower(two, i, false, c).bytes == kept_of_tower(one, i, false, c).bytes);
  }
  blind.model.towers.clear();
  question blind_two = two;
  blind_two.model.towers.clear();
  auto const forward = [&](question const& q) {
    return passes_of(q, stages_of(q), c)[0].forward.products;
  };
  CHECK(forward(two) - forward(blind_two) == doctest::Approx(forward(one) - forward(blind)));
  CHECK(operations(two) == operations(one));
  two.model.towers[0].is_split_by_context = true;
  CHECK_THROWS_AS(check(two), unpredictable);
  two.model.towers[0].is_split_by_context = false;
  two.model.towers[0].tokens = 0;  // a text
  CHECK_THROWS_AS(check(two), unpredictable);
}

TEST_CASE("towers: products of activations have work both ways, no parameters and no weight pass") {
  random_case::dice roll(84);
  constants const c = round_constants();
  question without = staged(seeing(roll), 1, 1);
  without.model.frozen = {};
  for (tower& each : without.model.towers) each.is_frozen = false;
  question with = without;
  with.model.towers[1].products.insert(
      with.model.towers[1].products.begin(),
      {.rows = 64, .inner = 80, .columns = 577, .is_of_activations = true});
  auto const passes = [&](question const& q) { return passes_of(q, stages_of(q), c)[0]; };
  double const added = operations(with) - operations(without),
               one = 2.0 * 64 * 80 * 577 * with.model.towers[1].inputs * with.batch;
  CHECK(added == doctest::Approx(3 * one));
  CHECK(parameters(with.model) == parameters(without.model));
  CHECK(passes(with).backward.weights == doctest::Approx(passes(without).backward.weights));
  CHECK(passes(with).backward.products > passes(without).backward.products);
  CHECK(kept_of_tower(with, 1, false, c).bytes == kept_of_tower(without, 1, false, c).bytes);
  with.model.towers[0].is_frozen = with.model.towers[1].is_frozen = true;
  without.model.towers = with.model.towers;
  without.model.towers[1].products.erase(without.model.towers[1].products.begin());
  CHECK(operations(with) - operations(without) == doctest::Approx(one));
}

TEST_CASE("towers: heads of one that each tensor rank has whole need not divide") {
  random_case::dice roll(83);
  question q = staged(seeing(roll), 1, 8);
  q.model.towers[0].kinds[0].mix.heads = q.model.towers[0].kinds[0].mix.groups = 12;
  CHECK_THROWS_AS(check(q), unpredictable);
  q.model.towers[0].is_undivided = true;
  check(q);
}

}  // namespace ashlar::cost::testing
