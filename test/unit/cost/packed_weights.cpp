#include <ashlar/cost/step/packed_weights.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/step/memory.hpp>
#include <ashlar/cost/step/passes.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace ashlar::cost::testing {

namespace {

constexpr adapters of_rank_8{.rank = 8, .of = adapted::queries | adapted::values};

adapters packs(packing frozen, bool packs_scales = false, bool widens_rest = false) {
  adapters made = of_rank_8;
  made.frozen = frozen;
  made.packs_scales = packs_scales;
  made.widens_rest = widens_rest;
  return made;
}

question with(question q, adapters lora) {
  q.model.lora = lora;
  q.model.predictions = 0;
  q.model.frozen = {
      .embedding = true, .head = true, .layers = std::vector<bool>(q.model.layers.size(), true)};
  return q;
}

memory_parts memory(question const& q) { return memory_of(q, stages_of(q), round_constants())[0]; }

// Hidden 1024, 16 heads of 64, 8 of keys and values, gates and two more matrices 4096 wide.
constexpr double linear = 3 * 1024 * 1024 + 3 * 1024 * 4096.0, tables = 2 * 1024 * 32000.0, depth = 8,
                 trained = depth * 8 * (1024 + 1024 + 1024 + 512.0);

}  // namespace

TEST_CASE("packed weights: codes and scales, by hand") {
  question q = asked(dense_model(8));
  q.program.kind = program_kind::tuned;
  auto const parameters = [&](adapters lora) { return memory(with(q, lora)).parameters; };
  double const rest = 2 * (tables + trained);
  CHECK(parameters(of_rank_8) == rest + 2 * depth * linear);
  CHECK(parameters(packs(packing::bits_4)) == rest + depth * linear * (0.5 + 4 / 64.0));
  CHECK(parameters(packs(packing::bits_4, true))
        == rest + depth * linear * (0.5 + 1 / 64.0 + 4 / 64.0 / 256));
  double const rows = 1024 + 2 * 512 + 1024 + 2 * 4096 + 1024;
  CHECK(parameters(packs(packing::bits_8)) == rest + depth * (linear + 4 * rows));
  CHECK(parameters(packs(packing::bits_4, false, true))
        == parameters(packs(packing::bits_4)) + 2 * tables);
  adapters head = packs(packing::bits_4);
  head.packs_head = true;
  CHECK(parameters(head) == parameters(packs(packing::bits_4)) - tables / 2 * (2 - 0.5 - 4 / 64.0));
  CHECK(passes_of_head(with(q, head), round_constants()).backward.bytes
        > passes_of_head(with(q, of_rank_8), round_constants()).backward.bytes);
  // A head in 32 bits is copied for its product in 16.
  CHECK(memory(with(q, packs(packing::bits_4, false, true))).logits
        == memory(with(q, packs(packing::bits_4))).logits + tables);
  // One matrix of the feed-forward part is unpacked at a time.
  CHECK(memory(with(q, packs(packing::bits_4))).gathered == 2 * 1024 * 4096.0);
  CHECK(memory(with(q, of_rank_8)).gathered == 0);
}

TEST_CASE("packed weights: shards are of codes, scales are whole, packed layers are gathered") {
  question q = asked(dense_model(8));
  q.layout.sharding = sharding::full;
  memory_parts const whole = memory(with(q, of_rank_8)),
                     part = memory(with(q, packs(packing::bits_4, true)));
  double const scales = depth * linear * (1 / 64.0 + 4 / 64.0 / 256);
  CHECK(part.parameters == (4 * trained + 2 * tables + depth * linear / 2) / 8 + scales);
  double const added = trained / depth;
  CHECK(part.gathered == 2 * (linear / 2 + 4 * added) + 2 * 1024 * 4096.0);
  CHECK(part.gradients == whole.gradients);
  // A wider layer without adapters has codes, too, and no gradients.
  constexpr double width = 16384;
  question wider = q;
  wider.model.add({.feed = {.kind = feed_forward_kind::dense, .is_gated = true, .width = width}});
  CHECK(memory(with(wider, packs(packing::bits_4, true))).gathered
        == 2 * (3 * 1024 * width / 2 + 2 * added) + 2 * 1024 * width);
  CHECK(part.optimizer == whole.optimizer);
  auto const gathers = [&](adapters lora) {
    question asked = with(q, lora);
    asked.sequence = 8;  // exchanges take longer than passes
    return passes_of(asked, stages_of(asked), round_constants())[0].forward.sharding;
  };
  CHECK(gathers(packs(packing::bits_4)) < gathers(packs(packing::bits_8)));
  CHECK(gathers(packs(packing::bits_8)) < gathers(of_rank_8));
}

TEST_CASE("packed weights: using a matrix reads its codes and writes its values") {
  unpacking_bytes const four = unpacking_of(packs(packing::bits_4), 10, 64, 128, 2);
  CHECK(four.forward == 64 * 128 * (0.5 + 4 / 64.0 + 2));
  CHECK(four.backward == four.forward);
  unpacking_bytes const eight = unpacking_of(packs(packing::bits_8), 10, 64, 128, 2);
  CHECK(eight.forward == 3 * 10 * 128 + 8 * 10 * 64);
  CHECK(eight.backward == 64 * 128 * 7 + 4 * 64);
  CHECK(unpacking_of(of_rank_8, 10, 64, 128, 2).forward == 0);
  // Layers hand on 32 bits where embedding and norms are.
  question q = asked(dense_model(8));
  q.layout.recompute = recomputation::full;
  double const handed = 2 * depth * 1024 * q.micro_batch_tokens();
  CHECK(memory(with(q, packs(packing::bits_4, false, true))).activations
            - memory(with(q, packs(packing::bits_4))).activations
        >= handed);
}

TEST_CASE("packed weights: laws of any run") {
  random_case::dice roll(811);
  constants const c = round_constants();
  for (int i = 0; i < 200; ++i) {
    question const q = random_question(roll);
    if (is_low(q.program.format)) continue;
    question const whole = with(q, of_rank_8);
    memory_parts const before = memory(whole);
    double fewer = before.parameters;
    for (adapters const lora :
         {packs(packing::bits_8), packs(packing::bits_4), packs(packing::bits_4, true)}) {
      question const packed = with(q, lora);
      memory_parts const m = memory(packed);
      // Each rank of a sharded model has all scales.
      if (!stack_of(q).is_sharded) CHECK(m.parameters <= fewer);
      fewer = m.parameters;
      CHECK(m.gradients == before.gradients);
      CHECK(m.optimizer == before.optimizer);
      CHECK(m.activations >= before.activations);
      for (layer const& l : q.model.kinds) {
        auto const passes = [&](question const& asked) {
          return passes_of_layer(asked, l, q.layout.recompute, gradient_kind::inputs, c);
        };
        stage_passes const now = passes(packed), then = passes(whole);
        CHECK(now.forward.seconds() >= then.forward.seconds());
        CHECK(now.backward.seconds() >= then.backward.seconds());
        CHECK(now.backward.weights == then.backward.weights);
      }
    }
  }
}

}  // namespace ashlar::cost::testing
