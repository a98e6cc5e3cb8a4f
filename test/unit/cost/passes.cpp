#include <ashlar/cost/step/passes.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"
#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/cost/step/held_parameters.hpp>
#include <ashlar/cost/step/memory.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::cost::testing {

namespace {

question in_two_stages(architecture const& a) {
  question q = asked(a);
  q.program.kind = program_kind::tuned;
  q.layout.pipeline = 2;
  q.layout.data = 4;
  return q;
}

}  // namespace

TEST_CASE("passes: measured times are positive, one for all stages or one each") {
  question q = in_two_stages(dense_model(4));
  auto const broken = [&](std::vector<measured_stage> const& all) {
    q.measured.stages = all;
    try {
      passes_of(q, stages_of(q), round_constants());
    } catch (unpredictable const& e) {
      return e.broken;
    }
    return requirement::sizes_are_positive;  // none
  };
  measured_stage const right{.forward = 1, .backward = 2, .weights = 1};
  CHECK(broken({right}) == requirement::sizes_are_positive);
  CHECK(broken({right, right}) == requirement::sizes_are_positive);
  CHECK(broken({right, right, right}) == requirement::measured_has_every_stage);
  CHECK(broken({{.forward = 1, .backward = 2, .weights = 2}}) == requirement::sizes_are_positive);
  for (measured_stage const& wrong : {measured_stage{.forward = 0, .backward = 2},
                                      {.forward = 1, .backward = 0},
                                      {.forward = 1e9, .backward = 2},
                                      {.forward = 1, .backward = 1e9},
                                      {.forward = -1, .backward = 2},
                                      {.forward = 1, .backward = -2, .weights = -3},
                                      {.forward = 1, .backward = 2, .weights = 2.5}})
    CHECK(broken({right, wrong}) == requirement::measured_is_positive);
}

TEST_CASE("passes: each forward of the frozen model takes what one without adapters does") {
  constants const c = round_constants();
  question q = in_two_stages(dense_model(4));
  q.model.lora = {.rank = 64, .of = adapted::queries | adapted::values};
  q.model.frozen = {.embedding = true, .head = true, .layers = std::vector<bool>(4, true)};
  auto const passes = [&](int forwards) {
    q.program.frozen_forwards = forwards;
    return passes_of(q, stages_of(q), c)[0];
  };
  stage_passes const none = passes(0), two = passes(2);
  q.model.lora.of = adapted::none;
  stage_passes const bare = passes(0);
  CHECK(bare.forward.on_device() < none.forward.on_device());
  CHECK(two.forward.on_device()
        == doctest::Approx(none.forward.on_device() + 2 * bare.forward.on_device()));
  CHECK(two.backward.on_device() == none.backward.on_device());
}

TEST_CASE("passes: each forward of the frozen model gathers and reads weights again") {
  constants const c = round_constants();
  question q = asked(dense_model(4), 8);
  q.cluster.device().host = {.link = 1e8, .memory_bytes = 250e9, .memory_bandwidth = 75e9};
  q.cluster.device().outside = 1e8;
  q.layout.sharding = sharding::full;
  q.layout.offload.weights = offloaded_weights::own;
  q.layout.offload.optimizer = true;
  q.model.lora = {.rank = 64, .of = adapted::queries | adapted::values};
  q.model.frozen = {.embedding = true, .head = true, .layers = std::vector<bool>(4, true)};
  auto const forward = [&](int forwards) {
    q.program.frozen_forwards = forwards;
    return passes_of(q, stages_of(q), c)[0].forward;
  };
  pass_terms const none = forward(0), one = forward(1), three = forward(3);
  CHECK((none.sharding > 0 && none.offload > 0));
  CHECK((one.sharding > 1.9 * none.sharding && one.offload > 1.9 * none.offload));
  CHECK(three.sharding - none.sharding == doctest::Approx(3 * (one.sharding - none.sharding)));
  CHECK(three.offload - none.offload == doctest::Approx(3 * (one.offload - none.offload)));
}

TEST_CASE("passes: a frozen copy is all weights in 16 bits, in shards where they are") {
  constants const c = round_constants();
  question q = asked(dense_model(4));
  auto const parameters = [&] { return memory_of(q, stages_of(q), c)[0].parameters; };
  for (sharding const shares : {sharding::none, sharding::full}) {
    q.layout.sharding = shares;
    q.program.holds_frozen_copy = false;
    double const without = parameters();
    q.program.holds_frozen_copy = true;
    double const all = 4 * (3 * 1024 * 1024 + 3 * 1024 * 4096.0) + 2 * 1024 * 32000;
    CHECK(parameters() - without == doctest::Approx(2 * all / (shares == sharding::full ? 8 : 1)));
  }
}

TEST_CASE("passes: the forward of a teacher takes what it does alone, and nothing is run back") {
  constants const c = round_constants();
  for (sharding const shares : {sharding::none, sharding::full}) {
    question q = asked(dense_model(4));
    q.layout.sharding = shares;
    q.layout.recompute = recomputation::full;
    question large = q;
    large.model = dense_model(12);
    stage_passes const none = passes_of(q, stages_of(q), c)[0],
                       alone = passes_of(large, stages_of(large), c)[0];
    q.teachers = {dense_model(12)};
    stage_passes const both = passes_of(q, stages_of(q), c)[0];
    CHECK(both.forward.on_device()
          == doctest::Approx(none.forward.on_device() + alone.forward.on_device()));
    CHECK(both.forward.sharding == doctest::Approx(none.forward.sharding + alone.forward.sharding));
    CHECK(both.backward.on_device() == none.backward.on_device());
  }
}

TEST_CASE("passes: a teacher holds its weights in 16 bits, in shards where they are, and its logits") {
  constants const c = round_constants();
  question q = asked(dense_model(4));
  for (sharding const shares : {sharding::none, sharding::gradients, sharding::full}) {
    q.layout.sharding = shares;
    q.teachers.clear();
    memory_parts const without = memory_of(q, stages_of(q), c)[0];
    q.teachers = {dense_model(12)};
    memory_parts const with = memory_of(q, stages_of(q), c)[0];
    double const all = 12 * (3 * 1024 * 1024 + 3 * 1024 * 4096.0) + 2 * 1024 * 32000;
    CHECK(with.parameters - without.parameters
          == doctest::Approx(2 * all / (shares == sharding::full ? 8 : 1)));
    // In 16 bits, and their softmax in 32.
    CHECK(with.logits - without.logits == doctest::Approx((2 + 4) * q.micro_batch_tokens() * 32000));
    CHECK(with.optimizer == without.optimizer);
    CHECK(with.gradients == without.gradients);
    CHECK(with.activations == without.activations);
  }
}

TEST_CASE("passes: teachers are checked as models, and run beside one stage alone") {
  auto const broken = [](question const& q) {
    try {
      check(q);
    } catch (unpredictable const& e) {
      return e.broken;
    }
    return requirement::sizes_are_positive;  // none
  };
  question q = asked(dense_model(4));
  q.teachers = {dense_model(12)};
  CHECK(broken(q) == requirement::sizes_are_positive);
  q.layout.tensor = 8;
  q.layout.data = 1;
  CHECK(broken(q) == requirement::sizes_are_positive);
  q.teachers[0].kinds[0].mix.heads = q.teachers[0].kinds[0].mix.groups = 12;
  CHECK(broken(q) == requirement::heads_divide);
  question two = in_two_stages(dense_model(4));
  two.teachers = {dense_model(12)};
  CHECK(broken(two) == requirement::teachers_have_one_stage);
}

TEST_CASE("passes: sums that wait for the last micro-batch have 16 bits, or 32") {
  constants const c = round_constants();
  question q = asked(dense_model(4));
  q.layout.sharding = sharding::full;
  q.batch = 16;
  auto const gradients = [&](bool waits, bool is_wide) {
    q.program.scatters_once = waits;
    q.program.sums_in_32_bits = is_wide;
    return memory_of(q, stages_of(q), c)[0].gradients;
  };
  double const all = 4 * (3 * 1024 * 1024 + 3 * 1024 * 4096.0) + 2 * 1024 * 32000;
  CHECK(gradients(true, false) - gradients(false, false) == doctest::Approx(2 * all).epsilon(1e-2));
  CHECK(gradients(true, true) - gradients(false, false) == doctest::Approx(4 * all).epsilon(1e-2));
  CHECK(gradients(false, true) == gradients(false, false));
}

TEST_CASE("passes: attention to other tokens takes what attention to as many of its own does") {
  constants const c = round_constants();
  architecture a = dense_model(4);
  a.kinds[0].mix.sees_all = true;
  a.kinds[0].mix.groups = 16;
  architecture crossing = a;
  crossing.kinds[0].cross = attends(16, 16, 64);
  crossing.towers.push_back(
      {.name = "encoder", .hidden = 1024, .kinds = {a.kinds[0]}, .layers = {0, 0, 0, 0}});
  question const q = asked(a), crosses = asked(crossing);
  for (recomputation const again : {recomputation::none, recomputation::attention}) {
    stage_passes const one = passes_of_layer(q, a.kinds[0], again, gradient_kind::all, c),
                       both = passes_of_layer(crosses, crossing.kinds[0], again, gradient_kind::all, c);
    CHECK(both.forward.attention == doctest::Approx(2 * one.forward.attention));
    CHECK(both.backward.attention == doctest::Approx(2 * one.backward.attention));
  }
  // A norm's input, queries, results and their sums, keys and values.
  question kept = crosses;
  kept.layout.context = 2;  // Megatron-Core
  kept.layout.data = 4;
  auto const bytes = [&](layer const& l) {
    return kept_bytes(kept, l, recomputation::none, true, false, c);
  };
  CHECK(bytes(crossing.kinds[0]) - bytes(a.kinds[0]) == 4 * 1024 + 4 * 16 + 2 * 4 * 16 * 64);
}

TEST_CASE("passes: norms or biases that train alone are those of each stage") {
  architecture a = routed_model(2);
  a.layers = {1, 1, 1, 1};
  a.kinds[1].mix.norms = 1024;
  a.kinds[1].mix.biases = 2048;
  a.kinds[1].feed.norms = 512;
  a.kinds[1].feed.biases = 256;
  a.kinds[1].feed.beside_expert = 128;
  a.norms = 64;
  a.biases = 32;
  for (updated_alone const alone : {updated_alone::norms, updated_alone::biases}) {
    bool const are_norms = alone == updated_alone::norms;
    a.alone = alone;
    double const layers = 4 * (are_norms ? 1024 + 512 : 2048 + 256), experts = are_norms ? 0 : 128 * 16;
    CHECK(trained_parameters(a) == layers + 4 * experts + (are_norms ? 64 : 32));
    for (bool const has_others : {false, true}) {
      question q = in_two_stages(a);
      q.model.has_other_gradients = has_others;
      std::vector<stage> const stages = stages_of(q);
      held_parameters first = held_by_stage(q.model, q.layout, stages[0]),
                      last = held_by_stage(q.model, q.layout, stages[1]);
      CHECK(first.trained.dense == layers / 2);
      CHECK(first.trained.expert == 2 * experts);
      CHECK(last.trained.dense == layers / 2 + (are_norms ? 64 : 32));
      CHECK(first.trained.both() + first.unused.both()
            == (has_others ? first.all.both() : first.trained.both()));
    }
  }
}

TEST_CASE("passes: where transfers wait for each other, the order with a closed form is executed") {
  layout l;
  CHECK(l.published() == nullptr);
  l.lanes = transfer_lanes{};
  CHECK(l.published() == nullptr);
  l.pipeline = 2;
  CHECK(l.published()->name == std::string("1f1b"));
  l.chunks = 2;
  CHECK(l.published()->name == std::string("depth-first"));
}

}  // namespace ashlar::cost::testing
