#include <ashlar/cost/step/kept.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"
#include "random_cases.hpp"
#include <ashlar/cost/step/kernels.hpp>
#include <ashlar/cost/step/memory.hpp>
#include <ashlar/cost/step/work.hpp>

#include <doctest/doctest.h>

#include <vector>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::cost::testing {

namespace {

question asked_to_send(architecture model, offloaded parts) {
  question q = asked(std::move(model));
  q.cluster.device() = hopper_with_host();
  q.program.kind = program_kind::tuned;
  q.layout.offload.parts = parts;
  return q;
}

double leaves_of_a_token(question const& q, offloaded parts) {
  return leaving_bytes(q, q.model.kinds[0], q.layout.recompute, true, parts, round_constants());
}

}  // namespace

// The tensors that PyTorch's min_cut_rematerialization_partition keeps of lingua's minGRU, minLSTM and
// Hawk: 7, 10 and 10 of each channel.
TEST_CASE("kept: recurrences whose state is one number a channel, as a compiled program keeps them") {
  auto const kept_of_channel = [](double steps, double rank) {
    layer l;
    l.mix = {.kind = mixer_kind::state_space, .inner = 2048, .steps = steps, .rank = rank};
    architecture a;
    a.hidden = 1024;
    a.vocabulary = 32000;
    a.add(l);
    question const q = asked_to_send(a, offloaded::none);
    double const norm = 2 * 2 * 1024;  // its input and its result
    return (kept_bytes(q, l, recomputation::none, true, false, round_constants()) - norm) / 2 / 2048;
  };
  CHECK(kept_of_channel(2048, 0) == 7);
  CHECK(kept_of_channel(2 * 2048, 0) == 10);
  CHECK(kept_of_channel(0, 2048) == 10);
}

TEST_CASE(
    "kept: chosen keys, by hand: queries and results are as wide as compressed keys, and a choice is "
    "kept") {
  question q = asked_to_send(dense_model(1), offloaded::none);
  layer& l = q.model.kinds[0];
  l = {.mix = {.kind = mixer_kind::compressed,
               .heads = 16,
               .q_rank = 384,
               .kv_rank = 256,
               .nope = 64,
               .rope = 32,
               .value_head = 48}};
  auto const kept = [&] {
    return kept_bytes(q, l, recomputation::none, true, false, round_constants());
  };
  double const dense = kept();
  l.mix.chosen = 2048;
  double const shared = kept();
  CHECK(shared - dense == 2 * 16 * ((256 + 32) - (2 * (64 + 32) + 48) + 256));
  l.mix.index_heads = 4;
  l.mix.index_head = 128;
  CHECK(kept() - shared == 2 * (4 * 128 + 128 + 4) + 4 * 2048);

  layer_work const made = work_of(q, l);
  CHECK(made.head == (256 + 32 + 256) / 2.0);
  double const tokens = q.micro_batch_tokens(), s = q.sequence;
  CHECK(made.scores == doctest::Approx(tokens * attention_span(q.sequence, l.mix) * 16));
  CHECK(made.all_scores == tokens * s * 16);
  double without_backward = 0;
  for (product const& each : made.products)
    if (!each.has_backward) without_backward += each.m * each.n * each.k;
  CHECK(without_backward
        == doctest::Approx(tokens * (384 * 4 * 128 + q.model.hidden * (128 + 4) + s / 2 * 4 * 128)));
  product const back = made.products[0];
  product ahead = back;
  ahead.has_backward = false;
  auto const seconds = [&](product const& each) {
    return products_seconds(q, {each}, round_constants());
  };
  CHECK(seconds(ahead).forward == seconds(back).forward);
  CHECK(seconds(ahead).backward == 0);
  CHECK(seconds(back).backward > 0);
}

TEST_CASE("kept: a scan whose state is one number moves eight values more, and takes no other time") {
  auto const work_with = [](double keys) {
    layer l;
    l.mix = {.kind = mixer_kind::state_space, .inner = 2048, .keys = keys};
    architecture a;
    a.hidden = 1024;
    a.vocabulary = 32000;
    a.add(l);
    question const q = asked_to_send(a, offloaded::none);
    return work_of(q, l);
  };
  layer_work const one = work_with(0), many = work_with(1e-9);
  double const channels = many.scan;
  CHECK(one.scan == 0);
  CHECK(one.forward_bytes - many.forward_bytes == doctest::Approx(3 * 2 * channels));
  CHECK(one.backward_bytes - many.backward_bytes == doctest::Approx(5 * 2 * channels));
}

TEST_CASE("offload: what each part of a dense layer sends of a token, by hand") {
  question q = asked_to_send(dense_model(4), offloaded::none);
  CHECK(leaves_of_a_token(q, offloaded::none) == 0);
  CHECK(leaves_of_a_token(q, offloaded::attention_norm) == 2 * 1024);
  CHECK(leaves_of_a_token(q, offloaded::norm_result) == 2 * 1024);
  CHECK(leaves_of_a_token(q, offloaded::feed_norm) == 2 * 1024);
  CHECK(leaves_of_a_token(q, offloaded::attention) == 2 * (16 + 2 * 8) * 64);
  CHECK(leaves_of_a_token(q, offloaded::attention_result) == 2 * 16 * 64);
  CHECK(leaves_of_a_token(q, offloaded::expert_input | offloaded::activation) == 0);
  CHECK(leaves_of_a_token(q, offloaded::attention | offloaded::feed_norm)
        == leaves_of_a_token(q, offloaded::attention) + leaves_of_a_token(q, offloaded::feed_norm));
  CHECK(leaves_of_a_token(q, offloaded::all)
        == kept_bytes(q, q.model.kinds[0], recomputation::none, true, false, round_constants()));
  q.layout.tensor = 4;  // each rank has a quarter of the sequence, or of the heads
  CHECK(leaves_of_a_token(q, offloaded::attention_norm) == 2 * 1024 / 4);
  CHECK(leaves_of_a_token(q, offloaded::attention) == 2 * (16 + 2 * 8) * 64 / 4);
}

TEST_CASE("offload: what experts send, and what is run again stays away") {
  question q = asked_to_send(routed_model(4), offloaded::none);
  layer const& l = q.model.kinds[1];
  auto const sends = [&](offloaded parts) {
    return leaving_bytes(q, l, q.layout.recompute, true, parts, round_constants());
  };
  CHECK(sends(offloaded::expert_input) == 2 * 2 * 1024);   // two experts a token
  CHECK(sends(offloaded::activation) == 2 * 2 * 2 * 512);  // gates and values
  CHECK(leaving_bytes(q, l, q.layout.recompute, false, offloaded::expert_input, round_constants())
        == 0);  // frozen
  q.layout.recompute = recomputation::experts | recomputation::norms;
  CHECK(sends(offloaded::expert_input | offloaded::activation | offloaded::norm_result) == 0);
}

TEST_CASE("offload: a device holds less by what leaves, and two layers' copies on their way") {
  constants const c = round_constants();
  question q = asked_to_send(dense_model(8), offloaded::none);
  q.layout.pipeline = 2;
  q.layout.data = 4;
  auto const held = [&] { return memory_of(q, stages_of(q), c); };
  std::vector<memory_parts> const without = held();
  q.layout.offload.parts = offloaded::attention;
  double const layer = 2 * (16 + 2 * 8) * 64 * 2048.0;
  std::vector<memory_parts> const with = held();
  for (int d = 0; d < 2; ++d) {
    auto const at = static_cast<std::size_t>(d);
    double const in_flight = 2 - d;
    CHECK(without[at].host == 0);
    CHECK(with[at].host == in_flight * 4 * layer);
    CHECK(with[at].activations == without[at].activations - in_flight * 4 * layer + 2 * layer);
  }
  CHECK(peak_host_bytes(with) == 2 * 4 * layer);
  q.layout.offload.in.first = 1;  // of each stage
  CHECK(held()[0].host == 2 * layer);
  q.layout.offload.parts = offloaded::all;
  q.layout.offload.in = {};
  CHECK(held()[0].host == without[0].activations);
  q.cluster.device().host.memory_bytes = 2 * 4 * layer;
  CHECK(fits(q, with, c));
  q.cluster.device().host.memory_bytes -= 1;
  CHECK_FALSE(fits(q, with, c));
}

TEST_CASE("offload: the optimizer's state and the master weights are on the host") {
  constants const c = round_constants();
  question q = asked_to_send(dense_model(4), offloaded::none);
  auto const only = [&] { return memory_of(q, stages_of(q), c)[0]; };
  memory_parts const without = only();
  q.layout.offload.optimizer = true;
  CHECK(only().optimizer == 0);
  CHECK(only().host == without.optimizer / 12 * 16);  // and 32-bit gradients
  CHECK(only().all() == without.all() - without.optimizer);
  q.layout.sharding = sharding::full;  // 16 bits of each weight stay
  double const all = 4 * (3 * 1024 * 1024 + 3 * 1024 * 4096.0) + 2 * 1024 * 32000;
  CHECK(only().parameters == 2 * all / 8);
  CHECK(only().host == 16 * all / 8);
}

TEST_CASE("offload: a copy takes time where the pass beside it is too short") {
  constants const c = round_constants();
  question q = asked_to_send(dense_model(4), offloaded::all);
  auto const passes = [&] { return passes_of(q, stages_of(q), c)[0]; };
  q.cluster.device().host.link = 1e15;
  CHECK(passes().forward.offload == 0);
  double const forward = passes().forward.seconds(), backward = passes().backward.seconds();
  double const bytes = 4 * 2048 * kept_bytes(q, q.model.kinds[0], recomputation::none, true, false, c);
  q.cluster.device().host.link = bytes / (1.5 * backward);
  CHECK(passes().forward.offload == doctest::Approx(1.5 * backward - forward));
  CHECK(passes().backward.offload == doctest::Approx(0.5 * backward));
  CHECK(passes().backward.seconds() == doctest::Approx(1.5 * backward));
  q.layout.offload.parts = offloaded::none;
  CHECK(passes().backward.seconds() == backward);
}

TEST_CASE("offload: the host holds shards of weights, and gathers take their copies, too") {
  constants const c = round_constants();
  question q = asked_to_send(dense_model(4), offloaded::none);
  q.layout.sharding = sharding::full;
  double const shard = (4 * (3 * 1024 * 1024 + 3 * 1024 * 4096.0) + 2 * 1024 * 32000) / 8,
               layer = 3 * 1024 * 1024 + 3 * 1024 * 4096.0;
  auto const held = [&] { return memory_of(q, stages_of(q), c)[0]; };
  memory_parts const without = held();
  auto const passes = [&] { return passes_of(q, stages_of(q), c)[0]; };
  stage_passes const before = passes();
  // ZeRO-3's: two bytes of each weight, and staged shards of two layers.
  q.layout.offload.weights = offloaded_weights::copies;
  CHECK(held().host == 2 * shard);
  CHECK(held().parameters == 2 * shard);
  CHECK(held().gathered == without.gathered + 2 * 2 * layer / 8);
  q.cluster.device().host.link = 1;  // copies take longer than all else
  CHECK(passes().forward.offload == doctest::Approx(2 * shard).epsilon(1e-4));
  CHECK(passes().forward.sharding == before.forward.sharding);
  CHECK(passes().backward.offload == doctest::Approx(2 * shard).epsilon(1e-4));
  q.layout.offload.optimizer = true;
  CHECK(held().host == (2 + 16) * shard);
  CHECK(held().parameters == 0);
  q.cluster.device().host.link = 50e9;
  CHECK(step_of(q, stages_of(q), c).optimizer
        == doctest::Approx(shard * (4 / 50e9 + 30 / 75e9)).epsilon(1e-3));
  // FSDP's: the optimizer's own weights, and gradients that go the other way at the same time.
  q.layout.offload.weights = offloaded_weights::own;
  CHECK(held().host == 16 * shard);
  CHECK(held().parameters + held().gradients + held().optimizer == 0);
  CHECK(held().gathered == without.gathered + 2 * 4 * layer / 8);
  CHECK(step_of(q, stages_of(q), c).optimizer == doctest::Approx(shard * 30 / 75e9).epsilon(1e-3));
  q.cluster.device().host.link = 1;
  CHECK(passes().backward.offload == doctest::Approx(4 * shard).epsilon(1e-4));
  // A link that is fast enough costs only its share of a longer exchange.
  q.cluster.device().host.link = 1e15;
  CHECK(passes().backward.offload == doctest::Approx(0).epsilon(1e-6));
}

TEST_CASE("offload: the host updates what it holds, between two copies") {
  constants const c = round_constants();
  question q = asked_to_send(dense_model(4), offloaded::none);
  q.layout.sharding = sharding::optimizer;
  q.layout.offload.optimizer = true;
  double const updated = (4 * (3 * 1024 * 1024 + 3 * 1024 * 4096.0) + 2 * 1024 * 32000) / 8;
  CHECK(step_of(q, stages_of(q), c).optimizer
        == doctest::Approx(updated * (6 / 50e9 + 30 / 75e9)).epsilon(1e-3));
}

TEST_CASE("offload: nothing leaves for a host of which nothing is known, nor what is not kept") {
  auto const broken = [](question const& q) {
    try {
      check(q);
    } catch (unpredictable const& e) {
      return e.broken;
    }
    return requirement::sizes_are_positive;
  };
  question q = asked_to_send(dense_model(4), offloaded::attention);
  CHECK_NOTHROW(check(q));
  q.layout.recompute = recomputation::full;
  CHECK(broken(q) == requirement::what_leaves_is_kept);
  q.layout.recompute_in.first = 2;
  CHECK_NOTHROW(check(q));
  q.layout.recompute_in = {};
  q.layout.offload.parts = offloaded::all;  // the checkpoints
  CHECK_NOTHROW(check(q));
  q.cluster.device().host.memory_bandwidth = 0;
  CHECK(broken(q) == requirement::machine_is_whole);
  q.cluster.device().host = {};
  CHECK(broken(q) == requirement::host_is_known);
  q.layout.offload = {.optimizer = true};
  CHECK(broken(q) == requirement::host_is_known);
  q.cluster = asked_to_send(dense_model(4), offloaded::none).cluster;
  q.layout.offload.weights = offloaded_weights::own;
  CHECK(broken(q) == requirement::weights_away_are_sharded);
  q.layout.sharding = sharding::full;
  CHECK_NOTHROW(check(q));
  q.layout.offload.optimizer = false;
  CHECK(broken(q) == requirement::weights_away_are_sharded);
  q.layout.offload = {.weights = offloaded_weights::copies};
  CHECK_NOTHROW(check(q));
  q.layout.weight_ranks = 2;
  CHECK(broken(q) == requirement::weights_away_are_sharded);
}

TEST_CASE("offload: no run takes less, and no device holds more but for two layers") {
  constants const c = round_constants();
  random_case::dice roll(11);
  int sent = 0;
  for (int i = 0; i < random_cases(300); ++i) {
    question q = random_question(roll);
    if (!q.layout.offload.is_any()) continue;
    if (q.layout.sharding == sharding::full && q.layout.weight_ranks == 0)
      q.layout.offload.weights = static_cast<offloaded_weights>(i % 3);
    if (q.layout.offload.weights == offloaded_weights::own) q.layout.offload.optimizer = true;
    question without = q;
    without.layout.offload = {};
    std::vector<stage> const stages = stages_of(q);
    std::vector<memory_parts> const held = memory_of(q, stages, c);
    std::vector<memory_parts> const before = memory_of(without, stages, c);
    std::vector<stage_needs> const needs = needs_of(q, stages, false, c);
    double moving = 0;
    for (stage_needs const& each : needs) moving = moving < each.moving ? each.moving : moving;
    // Shards from the host that are gathered to two layers.
    auto const staged = [&](std::size_t d) { return held[d].gathered - before[d].gathered; };
    for (std::size_t d = 0; d < held.size(); ++d)
      CHECK(held[d].all() - staged(d) <= (before[d].all() + moving) * (1 + 1e-12));
    question slow = q;
    slow.layout.offload.optimizer = q.layout.offload.weights == offloaded_weights::own;
    question fast = slow;
    fast.cluster.device().host.link *= 2;
    CHECK(step_seconds(slow, c) >= step_seconds(without, c) * (1 - 1e-12));
    CHECK(step_seconds(fast, c) <= step_seconds(slow, c) * (1 + 1e-12));
    ++sent;
  }
  CHECK(sent > random_cases(300) / 15);
}

}  // namespace ashlar::cost::testing
