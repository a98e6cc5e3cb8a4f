// Predictions of random runs with every trait of the room are what they were before. Other tests say
// what is right; these notice what changes.
#include "any_run.hpp"
#include "random_cases.hpp"
#include "recorded_rows.hpp"
#include <ashlar/catalog/entries.hpp>
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

using recorded_rows::put;
using recorded_rows::row;

// A layout in one number.
double tag_of(question const& q) {
  layout const& l = q.layout;
  recorded_rows::tag all;
  all.add(l.micro_batch, l.tensor, l.pipeline, l.chunks, l.context, l.expert, l.expert_tensor, l.data,
          static_cast<int>(l.sharding), static_cast<int>(l.recompute), l.recompute_in.first,
          static_cast<int>(l.offload.parts), l.offload.in.first, l.offload.optimizer, l.counts_ends,
          l.pipeline_inside, static_cast<int>(q.program.kind), static_cast<int>(q.program.format),
          q.cluster.kinds.size(), q.cluster.device_count(), q.batch);
  for (stage const& s : l.stages) all.add(s.count, s.predictions, s.losses);
  return static_cast<double>(all.sum());
}

// The layouts that were found, in numbers.
row layouts_in_numbers(layouts_found const& found) {
  row made{static_cast<double>(found.tried), found.is_whole ? 1.0 : 0.0};
  for (long long const each : found.counts) made.push_back(static_cast<double>(each));
  long long refused = 0;
  for (std::size_t i = 0; i < found.by_requirement.size(); ++i)
    refused += static_cast<long long>(i + 1) * found.by_requirement[i];
  made.push_back(static_cast<double>(refused));
  for (question const& each : found.refused) made.push_back(tag_of(each));
  for (auto const* const list : {&found.best, &found.smallest, &found.for_pairs}) {
    made.push_back(static_cast<double>(list->size()));
    for (ranked_layout const& each : *list)
      for (double const number : {each.seconds, each.peak, each.bound, tag_of(each.asked)})
        made.push_back(number);
  }
  return made;
}

// A question that leaves sizes open, on up to two kinds of devices, with much memory or little.
question any_open_question(random_case::dice& roll) {
  int const nodes = 1 << roll.between(0, 1);
  question q = asked(any_model(roll, 6), nodes);
  q.batch = 8 * roll.between(1, 3);
  q.program.kind = static_cast<program_kind>(roll.between(0, 6));
  q.cluster.device() = hopper_with_host();
  q.cluster.device().memory_bytes = 4e9 * (1 + 0.1 * roll.between(0, 40));
  q.cluster.device().host.memory_bytes = 1e10 * roll.between(1, 20);
  q.layout.spreads_losses = roll.percent(30);
  if (roll.percent(25)) {
    q.cluster.kinds.front().devices = 8;
    device_kind slower = q.cluster.kinds.front();
    slower.name = "slower";
    slower.device.peak.bf16 *= 0.5;
    slower.device.memory_bytes *= 0.7;
    q.cluster.kinds.push_back(slower);
    if (roll.percent(50)) q.cluster.between_kinds = 1e10;
  }
  return q;
}

open_sizes any_open_sizes(random_case::dice& roll) {
  open_sizes open;
  for (bool open_sizes::*size : {&open_sizes::stages, &open_sizes::parts, &open_sizes::order,
                                 &open_sizes::format, &open_sizes::pairs, &open_sizes::leaves})
    open.*size = roll.percent(40);
  for (bool open_sizes::*size :
       {&open_sizes::micro_batch, &open_sizes::tensor, &open_sizes::chunks, &open_sizes::context,
        &open_sizes::expert, &open_sizes::expert_tensor, &open_sizes::data, &open_sizes::shares,
        &open_sizes::again, &open_sizes::ends, &open_sizes::kinds})
    open.*size = roll.percent(85);
  if (open.parts) open.format = open.micro_batch = false;  // they have many sets
  return open;
}

}  // namespace

TEST_CASE("as before: divisions of layers") {
  random_case::dice roll(78);
  constants const c = distinct_constants();
  recorded_rows::table rows;
  for (int executed = 0; rows.size() < static_cast<std::size_t>(random_cases(400));) {
    question q = any_run(roll);
    if (q.layout.pipeline == 1 || !q.measured.stages.empty()) continue;
    if (q.layout.pipeline * q.layout.chunks > q.model.layer_count()) continue;
    if (q.layout.is_executed() && ++executed % 8 != 0) continue;
    q.cluster.kinds.back().device.memory_bytes *= roll.between(1, 8) * 0.2;
    try {
      dealing const found = deal_layers(q, c);
      row made{found.stages.empty() ? -1 : found.seconds, found.bound};
      recorded_rows::tag ends;
      for (stage const& s : found.stages) ends.add(s.count, s.predictions, s.losses, s.streams);
      put(made, ends.sum());
      rows.push_back(made);
    } catch (unpredictable const&) {
    } catch (violation const&) {
    }
  }
  recorded_rows::must_be_as_before("predict/divisions_as_before.txt", rows);
}

TEST_CASE("as before: layouts that are chosen") {
  random_case::dice roll(79);
  constants const c = distinct_constants();
  recorded_rows::table rows;
  for (int i = 0; i < random_cases(90); ++i) {
    question const q = any_open_question(roll);
    open_sizes const open = any_open_sizes(roll);
    std::size_t const most = 1 << roll.between(0, 3);
    int calls = roll.percent(20) ? roll.between(0, 2) : 1'000'000;
    auto const watch = [&](layouts_found const&) { return calls-- > 0; };
    try {
      rows.push_back(layouts_in_numbers(best_layouts(q, open, c, most, watch)));
      shared_batch const shared = share_batch(q, open, c, watch);
      rows.push_back({shared.sum, shared.shares.empty() ? -1 : shared.seconds()});
      for (ranked_layout const& each : shared.shares) rows.back().push_back(tag_of(each.asked));
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
