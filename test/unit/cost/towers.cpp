#include <ashlar/cost/step/tower_passes.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"
#include <ashlar/cost/model/tower_parameters.hpp>
#include <ashlar/cost/question/towers.hpp>
#include <ashlar/cost/step/held_parameters.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar::cost::testing {

namespace {

constexpr double tower_layer = 4 * 512.0 * 512 + 2 * 512 * 2048.0, patches = 588 * 512.0,
                 bridge = 512 * 1024.0 + 1024 * 1024.0;

// A tower of four layers on 257 tokens, 256 of them patches, and two matrices that lead from the patches
// to a decoder of width 1024.
architecture seeing_model(bool freezes_tower) {
  architecture a = dense_model(8);
  layer l{.mix = attends(8, 8, 64), .feed = {.kind = feed_forward_kind::dense, .width = 2048}};
  l.mix.sees_all = true;
  a.towers.push_back({.name = "eye",
                      .hidden = 512,
                      .tokens = 257,
                      .is_frozen = freezes_tower,
                      .beside = 257 * 512,
                      .kinds = {l},
                      .layers = {0, 0, 0, 0},
                      .products = {{.rows = 256, .inner = 588, .columns = 512, .is_ahead = true}}});
  a.towers.push_back({.name = "bridge",
                      .tokens = 256,
                      .continues = true,
                      .products = {{.inner = 512, .columns = 1024}, {.inner = 1024, .columns = 1024}}});
  return a;
}

question asked_seeing(bool freezes_tower) {
  question q = asked(seeing_model(freezes_tower));
  q.program.kind = program_kind::tuned;
  return q;
}

// An encoder of the sequence, and a decoder that attends to it.
architecture translating_model() {
  architecture a = dense_model(4);
  a.kinds[0].cross = attends(16, 16, 64);
  tower t{.name = "encoder", .hidden = 1024, .kinds = {a.kinds[0]}, .layers = {0, 0, 0, 0}};
  t.kinds[0].cross = {};
  t.kinds[0].mix.sees_all = true;
  a.towers.push_back(std::move(t));
  return a;
}

stage_passes first_passes(question const& q, constants const& c) {
  return passes_of(q, stages_of(q), c)[0];
}

}  // namespace

TEST_CASE("towers: parameters and what trains") {
  architecture const all = seeing_model(false), some = seeing_model(true), none = dense_model(8);
  double const tower = 4 * tower_layer + patches + 257 * 512;
  CHECK(parameters(all) == parameters(none) + tower + bridge);
  CHECK(trained_parameters(all) == parameters(all));
  CHECK(trained_parameters(some) == parameters(all) - tower);
  CHECK(all.gradients_of_tower(0) == gradient_kind::all);
  CHECK(some.gradients_of_tower(0) == gradient_kind::none);
  CHECK(some.gradients_of_tower(1) == gradient_kind::all);
  architecture head_first = all;
  head_first.towers[1].is_frozen = true;
  CHECK(head_first.gradients_of_tower(1) == gradient_kind::inputs);
  CHECK(!some.has_gradients_before_tower(1));
  CHECK(head_first.has_gradients_before_tower(1));
  architecture apart = head_first;
  apart.towers[1].continues = false;
  CHECK(apart.gradients_of_tower(1) == gradient_kind::none);
  architecture biased = all;
  biased.towers[1].products[0].has_bias = true;
  CHECK(parameters(biased) == parameters(all) + 1024);
}

TEST_CASE("towers: a decoder that is frozen hands gradients to what trains before it") {
  architecture a = seeing_model(true);
  a.frozen = {.embedding = true, .head = true, .layers = std::vector<bool>(8, true)};
  CHECK(a.first_trained() == 0);
  CHECK(a.gradients_of(0, a.first_trained()) == gradient_kind::inputs);
  CHECK(trained_parameters(a) == bridge);
  a.towers[1].is_frozen = true;
  CHECK(a.first_trained() == 8);
  CHECK_THROWS_AS(check(asked(a)), unpredictable);
}

TEST_CASE("towers: a frozen one has no backward, no gradients and no state") {
  constants const c = round_constants();
  question const training = asked_seeing(false), frozen = asked_seeing(true);
  stage_passes const a = passes_of_tower(training, 0, c), b = passes_of_tower(frozen, 0, c);
  CHECK(b.forward.on_device() == a.forward.on_device());
  CHECK(b.backward.on_device() == 0);
  CHECK(kept_of_tower(frozen, 0, false, c).bytes == 0);
  CHECK(kept_of_tower(training, 0, false, c).bytes > 0);
  // Each product's input, and the result of all but the last, which the decoder reads.
  CHECK(kept_of_tower(training, 1, false, c).bytes == 2 * 256 * (512 + 2 * 1024.0));
  question all_frozen = training;
  all_frozen.model.towers[1].is_frozen = true;
  stage_passes const behind = passes_of_tower(all_frozen, 1, c),
                     bridges = passes_of_tower(training, 1, c);
  CHECK(behind.backward.weights == 0);
  CHECK(behind.backward.products
        == doctest::Approx(bridges.backward.products - bridges.backward.weights));
  memory_parts const with = memory_of(training, stages_of(training), c)[0],
                     without = memory_of(frozen, stages_of(frozen), c)[0];
  double const tower = 4 * tower_layer + patches + 257 * 512;
  CHECK(without.parameters == with.parameters);
  CHECK(without.gradients == with.gradients - 4 * tower);
  CHECK(without.optimizer == with.optimizer - 12 * tower);
  CHECK(with.activations - without.activations
        == doctest::Approx(kept_of_tower(training, 0, false, c).bytes));
}

TEST_CASE("towers: one that is undivided is whole on each tensor rank") {
  constants const c = round_constants();
  question alone = asked_seeing(true), divided = alone;
  divided.layout.tensor = 4;
  divided.layout.data = 2;
  question whole = divided;
  whole.model.towers[0].is_undivided = true;
  alone.layout.data = 2;
  CHECK(passes_of_tower(whole, 0, c).forward.on_device()
        == passes_of_tower(alone, 0, c).forward.on_device());
  CHECK(passes_of_tower(divided, 0, c).forward.products < passes_of_tower(whole, 0, c).forward.products);
  auto const held = [](question const& q) {
    return held_by_stage(q.model, q.layout, stages_of(q)[0]).all.both();
  };
  CHECK(held(whole) - held(divided) == 4 * tower_layer * 3 / 4);
  CHECK(parameters(whole.model) == parameters(alone.model));
}

// Two layers are at work: the weights of the largest, and the gradients of the largest that trains.
TEST_CASE("towers: fully sharded, their layers are gathered like those of the decoder") {
  constants const c = round_constants();
  for (bool const is_frozen : {false, true})
    for (double const width : {512.0, 40960.0}) {
      question q = asked_seeing(is_frozen);
      q.layout.sharding = sharding::full;
      q.model.towers[0].kinds[0].feed.width = width;
      double const own = 4 * 512.0 * 512 + 2 * 512 * width,
                   decoder = 3 * 1024 * 1024.0 + 3 * 1024 * 4096.0, largest = std::max(own, decoder);
      CHECK(memory_of(q, stages_of(q), c)[0].gathered
            == 4 * largest + 4 * (is_frozen ? decoder : largest));
    }
}

TEST_CASE("towers: beside adapters, one trains itself, or in a copy") {
  constants const c = round_constants();
  question const plain = asked_seeing(true);
  question low = plain;
  low.model.lora = {.rank = 8, .of = adapted::queries};
  low.model.frozen = {.embedding = true, .head = true, .layers = std::vector<bool>(8, true)};
  question itself = low, copy = low;
  itself.model.towers[1].trains_by = beside_adapters::itself;
  copy.model.towers[1].trains_by = beside_adapters::copy;
  CHECK(low.model.gradients_of_tower(1) == gradient_kind::none);
  CHECK(itself.model.gradients_of_tower(1) == gradient_kind::all);
  CHECK(trained_parameters(itself.model) == trained_parameters(low.model) + bridge);
  CHECK(trained_parameters(copy.model) == trained_parameters(itself.model));
  CHECK(passes_of_tower(itself, 1, c).backward.on_device()
        == passes_of_tower(plain, 1, c).backward.on_device());
  auto const held = [](question const& q) { return held_by_stage(q.model, q.layout, stages_of(q)[0]); };
  CHECK(held(itself).trained.both() == held(low).trained.both() + bridge);
  CHECK(held(itself).all.both() == held(low).all.both());
  CHECK(held(copy).all.both() == held(low).all.both() + bridge);
  CHECK(held(copy).trained.both() == held(itself).trained.both());
  // Weights that are packed are not those of a tower.
  itself.model.lora.frozen = packing::bits_4;
  CHECK(passes_of_tower(itself, 1, c).forward.on_device()
        == passes_of_tower(plain, 1, c).forward.on_device());
  itself.model.towers[0].is_frozen = false;
  CHECK(!architecture_of(itself.model, itself.model.towers[0]).lora.pack());
  CHECK(architecture_of(itself.model, itself.model.towers[0]).lora.rank == 8);
}

TEST_CASE("towers: the first product behind nothing that trains has no gradient of its input") {
  question const q = asked_seeing(true);
  architecture const& a = q.model;
  CHECK(reads_untrained(a, 1, 0));
  CHECK(!reads_untrained(a, 1, 1));
  CHECK(!reads_untrained(seeing_model(false), 1, 0));
  CHECK(reads_untrained(seeing_model(false), 0, 0));
  double const rows = 2048.0 * 0 + 256,
               forward = 4 * tower_layer * 257 * 2 + 2 * rows * patches + 4 * 4 * 257.0 * 257 * 512,
               bridges = 2 * rows * (3 * 1024 * 1024.0 + 2 * 512 * 1024.0);
  CHECK(step_operations(a, 2048, 64) - step_operations(dense_model(8), 2048, 64)
        == doctest::Approx(64 * (forward + bridges)));
}

TEST_CASE("towers: the first stage has them, and no other") {
  constants const c = round_constants();
  question q = asked_seeing(false), alone = asked(dense_model(8));
  for (question* each : {&q, &alone}) {
    each->program.kind = program_kind::tuned;
    each->layout.pipeline = 2;
    each->layout.data = 4;
  }
  std::vector<stage_passes> const a = passes_of(q, stages_of(q), c),
                                  b = passes_of(alone, stages_of(alone), c);
  CHECK(a[0].forward.on_device()
        == doctest::Approx(b[0].forward.on_device() + passes_of_tower(q, 0, c).forward.on_device()
                           + passes_of_tower(q, 1, c).forward.on_device()));
  CHECK(a[1].forward.on_device() == b[1].forward.on_device());
  CHECK(held_by_stage(q.model, q.layout, stages_of(q)[1]).all.both()
        == held_by_stage(alone.model, alone.layout, stages_of(alone)[1]).all.both());
  q.layout.context = 2;
  q.layout.data = 2;
  check(q);
  for (tower& each : q.model.towers) each.is_split_by_context = true;
  CHECK_THROWS_AS(check(q), unpredictable);
}

TEST_CASE("towers: sizes that are none are refused") {
  auto const refused = [](auto change) {
    question q = asked_seeing(false);
    change(q.model.towers[0]);
    CHECK_THROWS_AS(check(q), unpredictable);
  };
  refused([](tower& t) { t.hidden = 0; });
  refused([](tower& t) { t.tokens = 3e9; });
  refused([](tower& t) { t.inputs = 0; });
  refused([](tower& t) { t.inputs = 2'000'000'001; });
  refused([](tower& t) { t.layers[0] = 1; });
  refused([](tower& t) { t.products[0].inner = 0; });
  refused([](tower& t) { t.products[0] = {.columns = 512}; });
  refused([](tower& t) { t.products[0] = {.inner = 512}; });
  refused([](tower& t) { t.kinds[0].mix.heads = 0; });
  refused([](tower& t) { t.kinds[0].cross = attends(8, 8, 64); });
  architecture a = seeing_model(false);
  a.towers[0].layers[0] = -1;
  CHECK_THROWS_AS(parameters(a), unpredictable);
  question q = asked_seeing(false);
  q.model.towers[0].kinds[0].mix.heads = 6;
  q.layout.tensor = 4;
  q.layout.data = 2;
  CHECK_THROWS_AS(check(q), unpredictable);
}

TEST_CASE("towers: adapters are beside their matrices unless they are frozen") {
  constants const c = round_constants();
  question q = asked_seeing(false);
  q.model.lora = {.rank = 8, .of = every_matrix};
  q.model.frozen = {.embedding = true, .head = true, .layers = std::vector<bool>(8, true)};
  double const both = trained_parameters(q.model);
  CHECK(q.model.gradients_of_tower(0) == gradient_kind::inputs);
  CHECK(q.model.gradients_of_tower(1) == gradient_kind::inputs);
  question without = q;
  without.model.towers[0].is_frozen = true;
  CHECK(without.model.gradients_of_tower(1) == gradient_kind::none);
  CHECK(both - trained_parameters(without.model) == 4 * 8 * (4 * (512 + 512.0) + 2 * (512 + 2048.0)));
  CHECK(first_passes(q, c).backward.on_device() > first_passes(without, c).backward.on_device());
}

TEST_CASE("towers: attention to an encoder's tokens") {
  architecture const a = translating_model();
  architecture shorter = a;
  shorter.towers[0].tokens = 1024;
  double const layer = parameters(dense_model(5)) - parameters(dense_model(4)), matrix = 1024 * 1024.0;
  CHECK(parameters(a) == parameters(dense_model(8)) + 4 * 4 * matrix);
  CHECK(a.has_cross_attention());
  CHECK(cross_keys(a, 2048) == 2048);
  CHECK(cross_keys(shorter, 2048) == 1024);
  CHECK(cross_keys(dense_model(4), 2048) == 0);
  // The encoder's layers and the matrices of keys and values see half of the tokens, and 16 heads of 64
  // half of the keys.
  double const less = 1024 * 6 * 4 * (layer + 2 * matrix)
                      + 3 * 4 * 4 * 1024.0 * (2048.0 * 2048 - 1024.0 * 1024 + 2048.0 * 1024);
  CHECK(step_operations(a, 2048, 64) - step_operations(shorter, 2048, 64) == doctest::Approx(64 * less));
  question q = asked(a);
  check(q);
  q.model.towers.clear();
  CHECK_THROWS_AS(check(q), unpredictable);
  q.model = a;
  q.layout.pipeline = 2;
  q.layout.data = 4;
  CHECK_THROWS_AS(check(q), unpredictable);
}

}  // namespace ashlar::cost::testing
