#include <ashlar/cost/layout/recomputation.hpp>
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/step/memory.hpp>
#include <ashlar/cost/step/work.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"

#include <doctest/doctest.h>

#include <vector>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::cost::testing {

namespace {

layer compressed_layer() {
  layer l;
  l.mix = {.kind = mixer_kind::compressed,
           .heads = 8,
           .groups = 8,
           .head = 96,
           .q_rank = 256,
           .kv_rank = 128,
           .nope = 64,
           .rope = 32,
           .value_head = 64};
  l.feed = {.kind = feed_forward_kind::experts,
            .is_gated = true,
            .experts = 16,
            .chosen = 2,
            .expert_width = 512,
            .shared_width = 1024};
  return l;
}

question asked_of_experts() {
  architecture a;
  a.hidden = 1024;
  a.vocabulary = 32000;
  for (int i = 0; i < 4; ++i) a.add(compressed_layer());
  question q = asked(a);
  q.layout.data = 8;
  return q;
}

double kept(question const& q, recomputation again) {
  return kept_bytes(q, q.model.kinds[0], again, true, false, round_constants());
}

double backward(question const& q, recomputation again) {
  return passes_of_layer(q, q.model.kinds[0], again, gradient_kind::all, round_constants())
      .backward.on_device();
}

}  // namespace

TEST_CASE("recomputation: what each part does not keep, by hand") {
  question const q = asked_of_experts();
  double const all = kept(q, recomputation::none);
  CHECK(all - kept(q, recomputation::norms) == 2 * 2 * 1024);
  CHECK(all - kept(q, recomputation::up_projections) == 2 * 8 * (2 * (64 + 32) + 64));
  CHECK(all - kept(q, recomputation::activation) == 2 * 2 * 512);  // two copies of a token
  CHECK(all - kept(q, recomputation::shared_expert) == 3 * 2 * 1024);
  double const copies = 2 * (2 * 1024 + 3 * 2 * 512);
  CHECK(all - kept(q, recomputation::experts) == copies + 3 * 2 * 1024 + 4 * 16);
  CHECK(kept(q, recomputation::dense) == all);  // there is none
  CHECK(kept(q, recomputation::attention) == all);
  question const dense = asked(dense_model(4));
  CHECK(kept(dense, recomputation::none) - kept(dense, recomputation::dense) == 3 * 2 * 4096);
}

TEST_CASE("recomputation: a backward takes as much more as what it runs again") {
  question const q = asked_of_experts();
  constants const c = round_constants();
  layer const& l = q.model.kinds[0];
  pass_terms const forward = passes_of_layer(q, l, recomputation::none, gradient_kind::all, c).forward;
  double const once = backward(q, recomputation::none);
  CHECK(backward(q, recomputation::full) == doctest::Approx(once + forward.on_device()));
  CHECK(backward(q, recomputation::attention) == doctest::Approx(once + forward.attention));
  layer_work const up = work_again(q, l, recomputation::up_projections);
  CHECK(up.products.size() == 2);
  CHECK(up.products[0].k == 256);
  CHECK(up.products[1].k == 128);
  layer_work const norms = work_again(q, l, recomputation::norms);
  CHECK(norms.products.empty());
  CHECK(norms.forward_bytes == 2 * 2 * 2 * 2048.0 * 1024);  // two, each read and written
  layer_work const act = work_again(q, l, recomputation::activation);
  CHECK(act.forward_bytes == 2 * 3 * 2 * 2048.0 * 512);
  layer_work const routed = work_again(q, l, recomputation::experts);
  CHECK(routed.products.size() == 5);  // router, experts, shared
  CHECK(routed.experts == 16);
  // Parts that are run again together take as long as alone.
  double sum = once;
  for (recomputation part :
       {recomputation::norms, recomputation::up_projections, recomputation::experts})
    sum += backward(q, part) - once;
  CHECK(backward(q, recomputation::norms | recomputation::up_projections | recomputation::experts)
        == doctest::Approx(sum));
  // Experts include the shared one.
  CHECK(backward(q, recomputation::experts | recomputation::shared_expert | recomputation::activation)
        == backward(q, recomputation::experts));
}

TEST_CASE("recomputation: layers are counted in each stage, or named") {
  chosen_layers some;
  CHECK(some.are_all());
  CHECK(some.have(7, 4));
  some.first = 2;
  CHECK(some.have(4, 4));
  CHECK(some.have(5, 4));
  CHECK(!some.have(6, 4));
  some = {};
  some.these = {false, true};
  CHECK(some.have(1, 0));
  CHECK(!some.have(0, 0));
  CHECK(!some.have(2, 0));
}

TEST_CASE("recomputation: of a half of the layers, half of the time and half of the memory") {
  question q = asked(dense_model(8));
  q.layout.tensor = 1;
  q.layout.pipeline = 2;
  q.layout.data = 4;
  q.program.kind = program_kind::tuned;
  constants const c = round_constants();
  auto const at = [&](recomputation again, int first) {
    question other = q;
    other.layout.recompute = again;
    other.layout.recompute_in.first = first;
    return predict_run(other, c, {});
  };
  answer const none = at(recomputation::none, chosen_layers::all), half = at(recomputation::dense, 2),
               all = at(recomputation::dense, chosen_layers::all), four = at(recomputation::dense, 4);
  CHECK(four.step.seconds == all.step.seconds);
  CHECK(four.peak == all.peak);
  CHECK(half.step.passes - none.step.passes
        == doctest::Approx((all.step.passes - none.step.passes) / 2));
  // They come beside one part that is whole at a time.
  double const part = 3 * 2 * 4096.0 * 2048;
  CHECK(none.memory[0].activations - half.memory[0].activations == doctest::Approx(2 * 2 * part - part));
  CHECK(none.memory[0].activations - all.memory[0].activations == doctest::Approx(2 * 4 * part - part));
  CHECK(unmeasured_in(q, {}).empty());
  for (recomputation measured : {recomputation::dense, recomputation::full}) {
    q.layout.recompute = measured;
    CHECK(unmeasured_in(q, {}).empty());
  }
  q.layout.recompute_in.first = 2;
  CHECK(unmeasured_in(q, {}) == std::vector{unmeasured::recomputation});
}

TEST_CASE("recomputation: selective, every second product is kept, by hand") {
  question q = asked(dense_model(4));  // width 1024, 16 heads and 8 groups of 64, gates of 4096
  q.layout.sharding = sharding::full;
  // Input, queries, values, scores' results, gate, down; a sum in 32 bits for each head.
  CHECK(kept(q, recomputation::operators) == 2 * (1024 + 1024 + 512 + 1024 + 4096 + 1024) + 4 * 16);
  layer_work const again = work_again(q, q.model.kinds[0], recomputation::operators);
  double products = 0;
  for (product const& each : again.products) products += each.m * each.n * each.k * each.count;
  // Keys, output and up.
  CHECK(products == q.micro_batch_tokens() * 1024 * (512 + 1024 + 4096));
  CHECK(again.scores == 0);
  CHECK(again.tensor_count == 0);
  CHECK(again.forward_bytes < work_of(q, q.model.kinds[0]).forward_bytes);
  q.layout.tensor = 2;  // results before the exchange have all columns; sums are split, and kept
  q.program.sequence_parallel = sequence_split::on;
  CHECK(kept(q, recomputation::operators)
        == 2 * (512 + 512 + 256 + 512 + 2048 + 1024 + 2 * 512) + 4 * 8);
}

TEST_CASE("recomputation: selective, an adapter's products count like others, by hand") {
  question q = asked(dense_model(4));
  q.layout.sharding = sharding::full;
  q.model.lora = {.rank = 8, .of = adapted::queries | adapted::values | adapted::down};
  // The products: queries and their adapter's two, keys, values and theirs, output, gate, up, down and
  // its adapter's: the 1st, 3rd, ...
  CHECK(kept(q, recomputation::operators)
        == 2 * (1024 + (1024 + 1024 + 512 + 512 + 4096 + 1024 + 1024) + 1024) + 4 * 16);
  layer_work const again = work_again(q, q.model.kinds[0], recomputation::operators);
  double products = 0;
  for (product const& each : again.products) products += each.m * each.n * each.k * each.count;
  CHECK(products
        == q.micro_batch_tokens()
               * (1024 * 8 + 1024 * 512 + 1024 * 8 + 1024 * 1024 + 1024 * 4096 + 4096 * 8));
  q.model.lora.of = adapted::result;
  // Queries, values, and the first of the output's adapter, 8 wide; gate and down.
  CHECK(kept(q, recomputation::operators)
        == 2 * (1024 + (1024 + 512 + 8 + 4096 + 1024) + 1024) + 4 * 16);
}

TEST_CASE("recomputation: selective, compressed attention with compressed queries has five products") {
  question const q = asked_of_experts();
  // Input, queries down, keys and values down, output, scores' results; experts run again.
  CHECK(kept(q, recomputation::operators) == 2 * (1024 + 256 + (128 + 32) + 1024 + 8 * 64) + 4 * 8);
}

TEST_CASE("context ranks: without balance the last one has nearly twice the scores") {
  question q = asked(dense_model(4));
  q.layout.context = 4;
  auto const scores = [&] { return work_of(q, q.model.kinds[0]).scores; };
  double const even = scores();
  q.program.facts.say(fact::context_balance, is_off);
  CHECK(scores() == doctest::Approx(even * 7 / 4));  // 3 whole shares and half of its own, over 2
  q.model.kinds[0].mix.window = 128;
  double const windowed = scores();
  q.program.facts.say(fact::context_balance, is_on);
  CHECK(scores() == windowed);
}

TEST_CASE("recomputation: selective is torchtitan's, with a loss of PyTorch's own functions") {
  question q = asked(dense_model(4));
  q.layout.sharding = sharding::full;
  constants const c = round_constants();
  auto const logits = [&] { return memory_of(q, stages_of(q), c)[0].logits; };
  double const count = q.micro_batch_tokens() * padded_vocabulary(q.model, 1);
  CHECK(logits() == 4 * count);
  q.layout.recompute = recomputation::operators;
  CHECK(stack_of(q).program == program_kind::torchtitan);
  CHECK(logits() == 14 * count);
  q.program.facts.say(fact::loss, static_cast<unsigned char>(logits_held::fused));
  CHECK(logits() == 4 * count);
  q.program.facts.say(fact::loss, static_cast<unsigned char>(logits_held::chunks));
  CHECK(logits() == 14 * count / 8);
  q.program.kind = program_kind::tuned;  // Megatron's FSDP has Megatron's loss
  CHECK(logits() == 6.5 * count);
}

}  // namespace ashlar::cost::testing
