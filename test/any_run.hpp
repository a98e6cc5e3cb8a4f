// Random runs with every trait that a prediction knows, each of them now and then, and constants that
// are all different.
#pragma once

#include "predicted_runs.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/cost/question/even_divisions.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar::cost::testing {

// Every constant is another number, so that none stands for another.
inline constants distinct_constants() {
  constants c = round_constants();
  double share = 0.2;
  for (named_constant const& each : constant_names)
    if (c.*each.value == 0.5) c.*each.value = share += 0.0137;
  c.scan_bytes = 57;
  return c;
}

inline spreads wide_spreads() {
  spreads s;
  for (spread_table* const table : {&s.steps, &s.peaks}) {
    for (std::size_t k = 0; k < table->kinds.size(); ++k)
      table->kinds[k] = {
          .within = 0.02 + 0.003 * static_cast<double>(k), .between = 0.05, .runs = 9, .sources = 3};
    table->beyond = 0.07;
  }
  s.steps.kinds[0].own_runs = s.steps.kinds[6].own_runs = 2;
  s.largest = {.sequence = 8192, .devices = 512, .pipeline = 8, .tensor = 8, .context = 2, .expert = 8};
  s.kernels = {{.device = family::hopper, .bits = 16}, {.device = family::ampere, .bits = 16}};
  s.host_link = 4e10;
  s.doubts = {.of = {1, 15}, .covariance = {0.01, 0.002, 0.002, 0.02}};
  return s;
}

namespace any_run_detail {

using random_case::dice;

inline mixer any_mixer(dice& roll, mixer usual) {
  switch (roll.between(0, 8)) {
    case 0:
      usual.window = roll.percent(50) ? 512 : 1e6;
      break;
    case 1:
      usual.chunk = roll.percent(50) ? 1024 : 1e6;
      break;
    case 2:
    case 3:
      usual = {.kind = mixer_kind::compressed,
               .heads = 16,
               .head = 64,
               .q_rank = roll.percent(50) ? 384.0 : 0.0,
               .kv_rank = 256,
               .nope = 64,
               .rope = 32,
               .value_head = 48};
      break;
    case 4:
      usual.sees_all = true;
      if (roll.percent(50)) usual.window = 384;
      break;
    case 5:
      usual.has_gate = true;
      break;
    case 6:
      usual = {.kind = mixer_kind::state_space, .inner = 1536, .keys = 96, .rank = 80};
      break;
    case 7:
      usual.kind = mixer_kind::none;
      break;
    default:
      break;
  }
  usual.beside = roll.between(0, 3) * 1000;
  return usual;
}

inline feed_forward any_feed(dice& roll, feed_forward usual) {
  usual.is_gated = roll.percent(70);
  usual.is_clamped = roll.percent(20);
  usual.beside = roll.between(0, 2) * 700;
  if (usual.kind == feed_forward_kind::experts) {
    usual.chosen = 1 << roll.between(0, 3);
    if (roll.percent(30)) usual.latent = 512;
    if (roll.percent(30)) usual.groups = 4, usual.chosen_groups = roll.between(0, 3);
    if (roll.percent(30)) usual.shared_width = 0;
    usual.beside_expert = roll.between(0, 2) * 512;
  }
  if (roll.percent(10)) usual.kind = feed_forward_kind::none;
  return usual;
}

}  // namespace any_run_detail

inline architecture any_model(random_case::dice& roll, int most_layers = 20) {
  int const layers = roll.between(1, most_layers);
  architecture a = roll.percent(40)   ? routed_model(layers)
                   : roll.percent(30) ? scanned_model(layers)
                                      : dense_model(layers, roll.percent(50) ? 1024 : 4096);
  layer const usual = a.kinds.back();
  auto const any_layer = [&] {
    return layer{.mix = any_run_detail::any_mixer(roll, usual.mix),
                 .feed = any_run_detail::any_feed(roll, usual.feed)};
  };
  for (int kind = roll.between(0, 2); kind > 0; --kind) {
    layer const other = any_layer();
    for (int i = roll.between(1, 4); i > 0; --i) a.add(other);
  }
  a.is_tied = roll.percent(30);
  a.beside = roll.between(0, 3) * 1000;
  if (roll.percent(15)) a.embedding = roll.percent(50) ? 512 : 8192;
  if (roll.percent(20)) {
    a.predictor = any_layer();
    a.predictions = roll.between(1, 3);
    a.repeats = roll.percent(50);
  }
  if (roll.percent(15)) {
    a.frozen.embedding = roll.percent(80);
    a.frozen.head = roll.percent(30);
    a.frozen.layers.assign(static_cast<std::size_t>(roll.between(0, layers)), true);
    if (roll.percent(30)) a.frozen.layers.insert(a.frozen.layers.begin(), false);
  } else if (roll.percent(15)) {
    a.lora = {.rank = 16, .of = static_cast<adapted>(roll.between(1, 8191))};
  }
  return a;
}

namespace any_run_detail {

inline void measure_layers(dice& roll, question& q) {
  for (layer& l : q.model.kinds)
    for (int tensor : {q.layout.tensor, 3 * q.layout.tensor})
      for (device_kind const& kind : q.cluster.kinds)
        l.measured.push_back({.tensor = tensor,
                              .device = q.cluster.has_several_kinds() ? kind.name : "",
                              .forward = roll.between(1, 9) * 1e-3,
                              .backward = roll.between(1, 19) * 1e-3,
                              .attends_forward = roll.between(0, 4) * 0.25,
                              .attends_backward = roll.between(0, 4) * 0.25,
                              .parameters = roll.between(1, 9) * 1e6,
                              .kept = roll.between(1, 9) * 3e6,
                              .output = roll.between(1, 9) * 1e4});
}

inline void say_facts(dice& roll, question& q) {
  q.program.kind = static_cast<program_kind>(roll.between(0, 6));
  q.program.attention = static_cast<attention_kernel>(roll.percent(60) ? 0 : roll.between(1, 6));
  q.program.sequence_parallel = static_cast<sequence_split>(roll.percent(70) ? 0 : roll.between(1, 2));
  q.program.dispatches_8_bits = roll.percent(10);
  q.program.delays_weights = roll.percent(10);
  q.program.sums_copies_once = roll.percent(10);
  for (std::size_t f = 0; f < fact_count; ++f)
    if (roll.percent(15)) {
      auto const& values = fact_table[f].values;
      q.program.facts.say(static_cast<fact>(f),
                          static_cast<unsigned char>(roll.between(0, values[2] == nullptr ? 1 : 2)));
    }
  if (roll.percent(10)) q.program.facts.say(fact_number::bucket, 4e7);
  if (roll.percent(10)) q.program.facts.say(fact_number::imbalance, 1.5);
  if (roll.percent(10)) q.program.facts.say(fact_number::capacity, roll.percent(50) ? 1.25 : 0.8);
}

inline void change_machine(dice& roll, machine& m) {
  m.built = static_cast<generation>(roll.between(0, 8));
  for (double* const figure :
       {&m.peak.fp32, &m.peak.tf32, &m.peak.fp16, &m.peak.bf16, &m.peak.fp8, &m.memory_bytes,
        &m.memory_bandwidth, &m.inside, &m.outside, &m.units, &m.exponentials, &m.power})
    *figure *= 0.5 + roll.between(0, 9) * 0.07;
  if (roll.percent(20)) m.peak.bf16 = 0;
  if (roll.percent(20)) m.peak.tf32 = 0;
  if (roll.percent(20)) m.pair = m.inside / 7;
  if (roll.percent(20)) m.products = 1.7;
  if (roll.percent(20)) m.exchange = 1.3;
  m.is_measured = roll.percent(60);
}

// Halves or thirds of the devices are of other kinds.
inline void mix_kinds(dice& roll, question& q) {
  int const count = roll.between(2, 3), all = q.cluster.kinds.front().devices;
  q.cluster.kinds.front().devices = all / count;
  for (int k = 1; k < count; ++k) {
    device_kind other = q.cluster.kinds.front();
    change_machine(roll, other.device);
    other.name = k == 1 ? "second" : "third";
    if (roll.percent(30)) other.device.per_node = 4;
    q.cluster.kinds.push_back(other);
  }
  if (roll.percent(50)) q.cluster.between_kinds = 2e10;
}

// Cuts the model's chain at random.
inline void divide_layers(dice& roll, question& q) {
  part_chain const chain(q.model, q.layout);
  int const stages = stage_count(q), parts = chain.count();
  std::vector<int> ends;
  for (int s = 1; s < stages; ++s)
    ends.push_back(roll.percent(90) ? s * parts / stages : roll.between(0, parts));
  ends.push_back(parts);
  q.layout.stages = chain.stages_of(ends);
}

inline void choose_order(dice& roll, question& q) {
  constexpr char const* orders[] = {"gpipe",       "1f1b",           "zb-h1",    "v-half",
                                    "depth-first", "interleaved-zb", "dualpipe", "seq1f1b",
                                    "chimera",     "1f1b-recompute"};
  catalog::entry const* const entry = catalog::find(orders[roll.between(0, 9)]);
  q.layout.order = entry;
  if (roll.percent(30)) q.layout.lanes = static_cast<transfer_lanes>(roll.between(0, 1));
  catalog::shape const shape = shape_of(q.layout, q.micro_batches());
  if (roll.percent(10) && entry->check(shape).ok()) q.layout.order = entry->make(shape);
}

inline chosen_layers any_layers(dice& roll) {
  if (roll.percent(50)) return {.first = roll.between(0, 3), .these = {}};
  chosen_layers made;
  for (int i = roll.between(1, 12); i > 0; --i) made.these.push_back(roll.percent(50));
  return made;
}

}  // namespace any_run_detail

// A run of any kind, small enough to execute; some of them cannot be predicted.
inline question any_run(random_case::dice& roll) {
  using namespace any_run_detail;
  for (;;) {
    question q = random_question(roll);
    q.model = any_model(roll);
    say_facts(roll, q);
    if (roll.percent(30)) change_machine(roll, q.cluster.device());
    if (roll.percent(25)) q.layout.recompute = static_cast<recomputation>(roll.between(1, 511));
    if (roll.percent(15)) q.layout.recompute_in = any_layers(roll);
    if (roll.percent(15)) q.layout.offload.in = any_layers(roll);
    q.layout.counts_ends = roll.percent(10);
    q.layout.pipeline_inside = roll.percent(10);
    q.layout.spreads_losses = roll.percent(30);
    if (roll.percent(15)) q.layout.shard_ranks = 1 << roll.between(0, 3);
    if (roll.percent(5)) q.layout.weight_ranks = 1 << roll.between(1, 3);
    if (roll.percent(15)) mix_kinds(roll, q);
    if (q.layout.pipeline > 1 && roll.percent(40)) choose_order(roll, q);
    if (roll.percent(10)) measure_layers(roll, q);
    if (roll.percent(10)) {
      double const forward = roll.between(1, 9) * 1e-3;
      q.measured.stages = {{.forward = forward, .backward = 2.1 * forward}};
      if (roll.percent(50)) q.measured.stages[0].weights = 0.9 * forward;
      if (roll.percent(50)) q.measured.transfer = 1e-4;
    }
    if (1LL * q.micro_batches() * q.layout.pipeline * q.layout.chunks > 400) continue;
    try {
      if (roll.percent(15)) divide_layers(roll, q);
      return q;
    } catch (unpredictable const&) {
    } catch (violation const&) {
    }
  }
}

// A run of any kind, which can be predicted.
inline question any_question(random_case::dice& roll, constants const& c) {
  for (;;) {
    question q = any_run(roll);
    try {
      predict_run(q, c, {});
      return q;
    } catch (unpredictable const&) {
    } catch (violation const&) {
    }
  }
}

}  // namespace ashlar::cost::testing
