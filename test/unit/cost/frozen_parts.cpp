#include <ashlar/cost/model/architecture.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"
#include <ashlar/cost/step/held_parameters.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::cost::testing {

namespace {

question asked_frozen(int layers, bool embedding, bool head) {
  question q = asked(dense_model(8));
  q.program.kind = program_kind::tuned;
  q.model.frozen.embedding = embedding;
  q.model.frozen.head = head;
  q.model.frozen.layers.assign(static_cast<std::size_t>(layers), true);
  return q;
}

constexpr double layer_size = 3 * 1024 * 1024 + 3 * 1024 * 4096.0, table_size = 1024 * 32000.0;

answer answered(question const& q) { return predict_run(q, round_constants(), {}); }

}  // namespace

TEST_CASE("frozen parts: what gradients a layer takes") {
  architecture a = dense_model(4);
  CHECK(!a.freezes_any());
  a.frozen.layers = {true, false, true};
  CHECK(a.freezes_any());
  CHECK(a.first_trained() == 0);  // the embedding
  auto const takes = [&](int layer) { return a.gradients_of(layer, a.first_trained()); };
  CHECK(takes(0) == gradient_kind::inputs);
  CHECK(takes(1) == gradient_kind::all);
  a.frozen.embedding = true;
  CHECK(a.first_trained() == 1);
  CHECK(takes(0) == gradient_kind::none);
  CHECK(takes(2) == gradient_kind::inputs);
  CHECK(takes(3) == gradient_kind::all);
  CHECK(a.trains_head());
  a.is_tied = true;
  CHECK(!a.trains_head());
}

TEST_CASE("frozen parts: they have neither gradients nor optimizer state") {
  question const all = asked_frozen(0, false, false), some = asked_frozen(4, true, false);
  CHECK(parameters(some.model) == parameters(all.model));
  CHECK(trained_parameters(all.model) == parameters(all.model));
  CHECK(trained_parameters(some.model) == parameters(all.model) - 4 * layer_size - table_size);
  memory_parts const a = answered(all).memory[0], b = answered(some).memory[0];
  double const trained = 4 * layer_size + table_size;
  CHECK(b.parameters == a.parameters);
  CHECK(b.gradients == 4 * trained);
  CHECK(b.optimizer == 12 * trained);
  CHECK(b.activations == a.activations / 2);  // four layers have no backward
  question shared = some;
  shared.layout.sharding = sharding::full;
  CHECK(answered(shared).memory[0].optimizer == 8 * trained / 8);
}

TEST_CASE("frozen parts: a backward is without them, as far as nothing before them trains") {
  question const all = asked_frozen(0, false, false), first = asked_frozen(4, true, false),
                 behind = asked_frozen(4, false, false);
  constants const c = round_constants();
  auto const passes = [&](question const& q) { return passes_of(q, stages_of(q), c)[0]; };
  stage_passes const layer =
      passes_of_layer(all, all.model.kinds[0], recomputation::none, gradient_kind::all, c);
  stage_passes const a = passes(all), b = passes(first), d = passes(behind);
  CHECK(b.forward.on_device() == a.forward.on_device());
  CHECK(b.backward.on_device()
        == doctest::Approx(a.backward.on_device() - 4 * layer.backward.on_device()));
  CHECK(b.weight_seconds() < a.weight_seconds());
  // With an embedding that trains, gradients of inputs go through all layers.
  CHECK(d.backward.on_device() == doctest::Approx(a.backward.on_device() - 4 * layer.backward.weights));
  // Each of four layers loses gradients of inputs and of weights, and twice attention (of 1024 tokens).
  double const less = 4 * (4 * layer_size + 2 * 4 * 1024.0 * 1024) * 64 * 2048;
  CHECK(step_operations(first.model, first.sequence, first.batch)
        == doctest::Approx(step_operations(all.model, all.sequence, all.batch) - less));
  CHECK(answered(behind).memory[0].activations < answered(all).memory[0].activations);
  CHECK(answered(first).step.data < answered(all).step.data);
  CHECK(answered(first).step.optimizer < answered(all).step.optimizer);
  CHECK(interval_gap_of(first, {}) == interval_gap::features);
}

TEST_CASE("frozen parts: a stage of them is forwards alone, in any schedule") {
  question q = asked_frozen(4, true, false);
  q.layout.pipeline = 2;
  q.layout.data = 4;
  constants const c = round_constants();
  std::vector<stage_passes> const passes = passes_of(q, stages_of(q), c);
  CHECK(passes[0].backward.on_device() == 0);
  CHECK(passes[1].backward.on_device() > 0);
  answer const a = answered(q);
  CHECK(a.memory[0].activations == 0);
  CHECK(a.memory[0].optimizer == 0);
  CHECK(a.step.device == 1);
  held_parameters const held = held_by_stage(q.model, q.layout, stages_of(q)[0]);
  CHECK(held.all.both() == 4 * layer_size + table_size);
  CHECK(held.trained.both() == 0);
  CHECK(held.backward.both() == 0);
}

TEST_CASE("frozen parts: something has to train") {
  CHECK_THROWS_AS(answered(asked_frozen(8, true, true)), unpredictable);
  CHECK(answered(asked_frozen(8, true, false)).step.seconds > 0);
}

}  // namespace ashlar::cost::testing
