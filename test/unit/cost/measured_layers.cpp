// Models whose layers were measured.
#include <ashlar/cost/step/answer.hpp>
// The header above comes first: it needs nothing before it.
#include "predicted_runs.hpp"
#include <ashlar/cost/choose/dealing.hpp>

#include <doctest/doctest.h>

namespace ashlar::cost::testing {

namespace {

measured_layer const usual{
    .forward = 2e-3, .backward = 4e-3, .parameters = 1e6, .kept = 3e6, .output = 1e4};

question measured_question(int layers, int pipeline) {
  architecture a;
  a.hidden = 1;
  layer l;
  l.measured = {usual};
  for (int i = 0; i < layers; ++i) a.add(l);
  question q = asked(a);
  q.layout.pipeline = pipeline;
  q.layout.data = 8 / pipeline;
  q.batch = 32;
  q.program.kind = program_kind::tuned;
  return q;
}

}  // namespace

TEST_CASE("measured layers: passes are sums, and a micro-batch takes a multiple") {
  constants const c = round_constants();
  question q = measured_question(8, 4);
  q.layout.micro_batch = 2;
  std::vector<stage_passes> const passes = passes_of(q, stages_of(q), c);
  REQUIRE(passes.size() == 4);
  for (stage_passes const& each : passes) {
    CHECK(each.forward.measured == doctest::Approx(2 * 2 * 2e-3));
    CHECK(each.backward.measured == doctest::Approx(2 * 2 * 4e-3));
    CHECK(each.weight_seconds() == doctest::Approx(2 * 4e-3));
    CHECK(each.forward.products == 0);
  }
  q.layout.recompute = recomputation::full;
  CHECK(passes_of(q, stages_of(q), c)[0].backward.measured == doctest::Approx(2 * 2 * 6e-3));
}

TEST_CASE("measured layers: what devices hold") {
  constants const c = round_constants();
  question q = measured_question(8, 4);
  std::vector<memory_parts> const plain = memory_of(q, stages_of(q), c);
  CHECK(plain[0].parameters == 2 * 2 * 1e6);
  CHECK(plain[0].activations == doctest::Approx(4 * 2 * 3e6));
  CHECK(plain[3].logits == 0);
  q.layout.recompute = recomputation::full;
  CHECK(memory_of(q, stages_of(q), c)[0].activations == doctest::Approx(4 * 2 * 1e4 + 3e6));
}

TEST_CASE("measured layers: unequal ones are dealt, and others have to be measured") {
  constants const c = round_constants();
  question q = measured_question(0, 2);
  for (int i = 0; i < 7; ++i) {
    layer l;
    l.measured = {usual};
    if (i == 6) l.measured[0].forward *= 3;
    if (i == 6) l.measured[0].backward *= 3;
    q.model.add(l);
  }
  dealing const dealt = deal_layers(q, c);
  REQUIRE(dealt.stages.size() == 2);
  CHECK((dealt.stages[0].count == 4 || dealt.stages[0].count == 5));
  CHECK(dealt.stages[0].count + dealt.stages[1].count == 7);
  q.layout.tensor = 2;
  q.layout.data = 2;
  try {
    predict_run(q, c, {});
    CHECK(false);
  } catch (unpredictable const& e) {
    CHECK(e.broken == requirement::layers_are_measured);
    CHECK(e.number == 2);
  }
}

TEST_CASE("measured layers: each kind has its own times, and ranks of both the slower") {
  constants const c = round_constants();
  question q = measured_question(8, 2);
  device_kind one = q.cluster.kinds.front();
  one.devices = 4;
  one.device.per_node = 4;
  q.cluster.kinds = {one, one};
  q.cluster.kinds[0].name = "fast";
  q.cluster.kinds[1].name = "slow";
  measured_layer fast = usual, slow = usual;
  fast.device = "fast";
  slow.device = "slow";
  slow.forward *= 3;
  slow.backward *= 3;
  q.model.kinds[0].measured = {fast, slow};
  std::vector<stage_passes> const passes = passes_of(q, stages_of(q), c);
  CHECK(passes[1].forward.measured == doctest::Approx(3 * passes[0].forward.measured));
  dealing const dealt = deal_layers(q, c);
  REQUIRE(dealt.stages.size() == 2);
  CHECK(dealt.stages[0].count == 6);
  q.layout.pipeline = 1;
  q.layout.data = 8;
  CHECK(passes_of(q, stages_of(q), c)[0].forward.measured == doctest::Approx(8 * slow.forward));
}

}  // namespace ashlar::cost::testing
