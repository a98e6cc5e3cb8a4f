// Predictions of random runs with every trait of the room are what they were before. Other tests say
// what is right; these notice what changes.
#include "predicted_runs.hpp"
#include "random_cases.hpp"
#include "recorded_rows.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/cost/choose/dealing.hpp>
#include <ashlar/cost/choose/improved_order.hpp>
#include <ashlar/cost/choose/layouts.hpp>
#include <ashlar/cost/choose/shared_batch.hpp>
#include <ashlar/cost/step/calibrate.hpp>
#include <ashlar/cost/step/step_bound.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace ashlar::cost::testing {

namespace {

// Every constant is another number, so that none stands for another.
constants distinct_constants() {
  constants c = round_constants();
  double share = 0.2;
  for (named_constant const& each : constant_names)
    if (c.*each.value == 0.5) c.*each.value = share += 0.0137;
  c.scan_bytes = 57;
  return c;
}

spreads wide_spreads() {
  spreads s;
  for (spread_table* const table : {&s.steps, &s.peaks}) {
    for (std::size_t k = 0; k < table->kinds.size(); ++k)
      table->kinds[k] = {
          .within = 0.02 + 0.003 * static_cast<double>(k), .between = 0.05, .runs = 9, .sources = 3};
    table->beyond = 0.07;
  }
  s.largest = {.sequence = 8192, .devices = 512, .pipeline = 8, .tensor = 8, .context = 2, .expert = 8};
  s.kernels = {{.device = family::hopper, .bits = 16}, {.device = family::ampere, .bits = 16}};
  s.host_link = 4e10;
  s.doubts = {.of = {1, 15}, .covariance = {0.01, 0.002, 0.002, 0.02}};
  return s;
}

architecture any_model(random_case::dice& roll) {
  int const layers = roll.between(1, 20);
  architecture a = roll.percent(40)   ? routed_model(layers)
                   : roll.percent(30) ? scanned_model(layers)
                                      : dense_model(layers, roll.percent(50) ? 1024 : 4096);
  layer other = a.kinds[0];
  switch (roll.between(0, 7)) {
    case 0:
      other.mix.window = 512;
      break;
    case 1:
      other.mix.chunk = 1024;
      break;
    case 2:
      other.mix = {.kind = mixer_kind::compressed,
                   .heads = 16,
                   .head = 64,
                   .q_rank = roll.percent(50) ? 384.0 : 0.0,
                   .kv_rank = 256,
                   .nope = 64,
                   .rope = 32,
                   .value_head = 64};
      break;
    case 3:
      other.mix.sees_all = true;
      break;
    case 4:
      other.mix.has_gate = true;
      break;
    case 5:
      other.feed.is_gated = false;
      break;
    case 6:
      other.feed.is_clamped = true;
      break;
    default:
      other.mix.beside = 3000;
      break;
  }
  if (other.feed.kind == feed_forward_kind::experts) {
    if (roll.percent(30)) other.feed.latent = 512;
    if (roll.percent(30)) other.feed.groups = 4, other.feed.chosen_groups = 2;
    other.feed.beside_expert = roll.between(0, 2) * 512;
  }
  for (int i = roll.between(0, 4); i > 0; --i) a.add(other);
  a.is_tied = roll.percent(30);
  a.beside = roll.between(0, 3) * 1000;
  if (roll.percent(15)) a.embedding = 512;
  if (roll.percent(15)) {
    a.predictions = roll.between(1, 2);
    a.repeats = roll.percent(50);
  }
  if (roll.percent(10)) {
    a.frozen.embedding = roll.percent(80);
    a.frozen.head = roll.percent(30);
    a.frozen.layers.assign(static_cast<std::size_t>(roll.between(0, layers)), true);
  } else if (roll.percent(10)) {
    a.lora = {.rank = 16, .of = static_cast<adapted>(roll.between(1, 8191))};
  }
  return a;
}

void say_facts(random_case::dice& roll, question& q) {
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
  if (roll.percent(10)) q.program.facts.say(fact_number::capacity, 1.25);
}

// A question of any kind, which can be predicted.
question any_question(random_case::dice& roll, constants const& c) {
  constexpr char const* orders[] = {"gpipe", "1f1b", "zb-h1", "v-half", "depth-first", "chimera"};
  for (;;) {
    question q = random_question(roll);
    q.model = any_model(roll);
    say_facts(roll, q);
    if (roll.percent(25)) q.layout.recompute = static_cast<recomputation>(roll.between(1, 511));
    if (roll.percent(15)) q.layout.recompute_in.first = roll.between(0, 3);
    if (roll.percent(10)) q.layout.counts_ends = true;
    if (roll.percent(10)) q.layout.pipeline_inside = true;
    if (roll.percent(15)) q.layout.shard_ranks = 1 << roll.between(0, 3);
    if (roll.percent(5)) q.layout.weight_ranks = 1 << roll.between(1, 3);
    if (q.layout.pipeline > 1 && roll.percent(40)) {
      q.layout.order = catalog::find(orders[roll.between(0, 5)]);
      if (roll.percent(30)) q.layout.lanes = transfer_lanes::one;
    }
    if (roll.percent(10)) {
      double const forward = roll.between(1, 9) * 1e-3;
      q.measured.stages = {{.forward = forward, .backward = 2.1 * forward}};
      if (roll.percent(50)) q.measured.stages[0].weights = 0.9 * forward;
      if (roll.percent(50)) q.measured.transfer = 1e-4;
    }
    if (roll.percent(15) && q.cluster.device_count() % 2 == 0) {
      device_kind second = q.cluster.kinds.front();
      q.cluster.kinds.front().devices /= 2;
      second.devices /= 2;
      second.name = "second";
      second.device.peak.bf16 *= 0.6;
      second.device.memory_bytes *= 0.8;
      q.cluster.kinds.push_back(second);
    }
    if (1LL * q.micro_batches() * q.layout.pipeline * q.layout.chunks > 400) continue;
    try {
      predict_run(q, c, {});
      return q;
    } catch (unpredictable const&) {
    } catch (violation const&) {
    }
  }
}

std::vector<double> numbers_of(answer const& a, question const& q, constants const& c) {
  step_terms const& s = a.step;
  pass_terms const passes = sum_of_passes(s);
  std::vector<double> row{s.seconds,
                          s.passes,
                          s.hidden,
                          s.bubble,
                          s.stragglers,
                          s.data,
                          s.optimizer,
                          s.update,
                          passes.host,
                          passes.sharding,
                          passes.offload,
                          passes.transfer,
                          a.low,
                          a.high,
                          a.low_peak,
                          a.high_peak,
                          a.peak,
                          a.peak_of_last,
                          a.peak_on_host,
                          a.operations,
                          static_cast<double>(a.kind),
                          static_cast<double>(a.gap),
                          static_cast<double>(a.memory_fit),
                          static_cast<double>(s.device),
                          static_cast<double>(unmeasured_facts(q).size()),
                          parameters(q.model),
                          active_parameters(q.model),
                          trained_parameters(q.model)};
  memory_parts sums;
  double rank = 1;
  for (memory_parts const& each : a.memory) {
    sums.parameters += rank * each.parameters;
    sums.gradients += rank * each.gradients;
    sums.optimizer += rank * each.optimizer;
    sums.activations += rank * each.activations;
    sums.logits += rank * each.logits;
    sums.gathered += rank * each.gathered;
    sums.framework += rank * each.framework;
    sums.host += rank * each.host;
    rank += 1;
  }
  for (double const each : {sums.parameters, sums.gradients, sums.optimizer, sums.activations,
                            sums.logits, sums.gathered, sums.framework, sums.host})
    row.push_back(each);
  for (unmeasured const each : a.beyond)
    row[20] += 100 * static_cast<double>(1 << static_cast<int>(each));
  row.push_back(q.layout.is_executed() && q.layout.published() != nullptr
                    ? least_step_seconds(q, stages_of(q), {}, c)
                    : 0);
  return row;
}

// The layouts that were found, in numbers.
std::vector<double> numbers_of(layouts_found const& found) {
  std::vector<double> row{static_cast<double>(found.tried)};
  for (long long const each : found.counts) row.push_back(static_cast<double>(each));
  long long refused = 0;
  for (std::size_t i = 0; i < found.by_requirement.size(); ++i)
    refused += static_cast<long long>(i + 1) * found.by_requirement[i];
  row.push_back(static_cast<double>(refused));
  for (auto const* const list : {&found.best, &found.smallest, &found.for_pairs}) {
    row.push_back(static_cast<double>(list->size()));
    for (ranked_layout const& each : *list)
      for (double const number : {each.seconds, each.peak, each.bound}) row.push_back(number);
  }
  return row;
}

}  // namespace

TEST_CASE("as before: predictions of runs of every kind") {
  random_case::dice roll(77);
  constants const c = distinct_constants();
  spreads const s = wide_spreads();
  recorded_rows::table rows;
  for (int i = 0; i < random_cases(300); ++i) {
    question const q = any_question(roll, c);
    rows.push_back(numbers_of(predict_run(q, c, s), q, c));
  }
  recorded_rows::must_be_as_before("predict/runs_as_before.txt", rows);
}

TEST_CASE("as before: divisions of layers") {
  random_case::dice roll(78);
  constants const c = distinct_constants();
  recorded_rows::table rows;
  while (rows.size() < static_cast<std::size_t>(random_cases(40))) {
    question q = any_question(roll, c);
    if (q.layout.pipeline == 1 || q.layout.is_executed() || !q.measured.stages.empty()) continue;
    if (q.layout.pipeline * q.layout.chunks > q.model.layer_count()) continue;
    if (roll.percent(50)) q.cluster.device().memory_bytes *= 0.2;
    try {
      dealing const found = deal_layers(q, c);
      std::vector<double> row{found.stages.empty() ? -1 : found.seconds, found.bound};
      for (stage const& each : found.stages) row.push_back(each.count);
      rows.push_back(row);
    } catch (unpredictable const&) {
    }
  }
  recorded_rows::must_be_as_before("predict/divisions_as_before.txt", rows);
}

TEST_CASE("as before: layouts that are chosen") {
  random_case::dice roll(79);
  constants const c = distinct_constants();
  recorded_rows::table rows;
  auto const go_on_always = [](layouts_found const&) { return true; };
  for (int i = 0; i < random_cases(16); ++i) {
    int const nodes = 1 << roll.between(0, 2);
    question q = asked(any_model(roll), nodes);
    q.batch = 32 << roll.between(0, 2);
    q.program.kind = static_cast<program_kind>(roll.between(0, 6));
    q.cluster.device() = hopper_with_host();
    q.cluster.device().memory_bytes = (1 << roll.between(2, 6)) * 1.3e9;
    open_sizes open;
    open.stages = roll.percent(30);
    open.parts = roll.percent(30);
    open.order = roll.percent(30);
    open.format = roll.percent(30);
    open.pairs = roll.percent(30);
    open.leaves = roll.percent(50);
    if (roll.percent(25)) {
      device_kind slower = q.cluster.kinds.front();
      slower.name = "slower";
      slower.device.peak.bf16 *= 0.5;
      q.cluster.kinds.push_back(slower);
    }
    try {
      rows.push_back(numbers_of(best_layouts(q, open, c, 4, go_on_always)));
      if (q.cluster.has_several_kinds()) {
        shared_batch const shared = share_batch(q, open, c, go_on_always);
        rows.push_back({shared.sum, shared.shares.empty() ? -1 : shared.seconds()});
      }
    } catch (unpredictable const& e) {
      rows.push_back({-static_cast<double>(e.broken)});
    }
  }
  recorded_rows::must_be_as_before("predict/layouts_as_before.txt", rows);
}

TEST_CASE("as before: orders that are searched for, and constants that are fitted") {
  random_case::dice roll(80);
  constants const c = distinct_constants();
  recorded_rows::table rows;
  for (int i = 0; i < 4; ++i) {
    question q = asked(dense_model(8), 1);
    q.layout.pipeline = 4;
    q.layout.data = 2;
    q.batch = 16 + 8 * roll.between(0, 3);
    q.layout.order = catalog::find(i % 2 == 0 ? "1f1b" : "zb-h1");
    std::vector<question> const better = improved_order(q, c, 1e9, 10'000);
    rows.push_back({static_cast<double>(better.size()),
                    better.empty() ? 0 : predict_run(better[0], c, {}).step.seconds});
  }
  std::vector<question> runs;
  std::vector<double> measured;
  while (runs.size() < 10) {
    question const q = any_question(roll, c);
    if (q.layout.is_executed() || !q.measured.stages.empty()) continue;
    runs.push_back(q);
    measured.push_back(predict_run(q, c, {}).step.seconds * (0.9 + 0.02 * roll.between(0, 15)));
  }
  constant_spreads spread;
  spread.fill(0.1);
  calibration const made = calibrate(runs, measured, c, spread);
  for (named_constant const& each : constant_names) rows.push_back({made.fitted.*each.value});
  rows.push_back(made.after);
  rows.push_back(made.alone);
  rows.push_back(ratios_left_out(runs, measured, c, spread));
  rows.push_back(made.doubts.covariance);
  rows.back().push_back(made.misfit);
  recorded_rows::must_be_as_before("predict/orders_as_before.txt", rows);
}

}  // namespace ashlar::cost::testing
