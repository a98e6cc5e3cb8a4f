#include <ashlar/cost/choose/dealing.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/cost/choose/dealing_moves.hpp>
#include <ashlar/cost/question/even_divisions.hpp>
#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/cost/step/answer.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace ashlar::cost::testing {

namespace {

// Every way to cut the chain: embedding, layers, predictions, head; spread, each prediction and each
// loss.
void divide_on(question& q, int part, int parts, std::vector<stage> const& all, constants const& c,
               std::optional<double>& least) {
  bool const predicts = q.model.predictions > 0;
  int const layers = q.model.layer_count(),
            left = q.layout.pipeline * q.layout.chunks - static_cast<int>(all.size());
  if (left == 0) {
    if (part < parts) return;
    q.layout.stages = all;
    answer const a = predict_run(q, c, {});
    if (a.fits && (!least || a.step.seconds < *least)) least = a.step.seconds;
    return;
  }
  for (int end = part + 1; end <= parts - (left - 1); ++end) {
    stage s;
    s.first = part == 0 ? 0 : part - 1;
    for (int i = part; i < end; ++i) {
      if (i == 0) s.has_embedding = true;
      if (i >= 1 && i <= layers) ++s.count;
      if (q.layout.spreads_losses) {
        if (i > layers && i <= layers + q.model.predictions) ++s.predictions;
        if (i > layers + q.model.predictions) ++s.losses;
        continue;
      }
      if (predicts && i == layers + 1) s.predictions = q.model.predictions;
      if (i == parts - 1) s.has_head = true;
    }
    if (s.losses > 0) s.has_head = true;
    if (!all.empty()) s.streams = all.back().streams_after();
    bool const is_late = static_cast<int>(all.size()) >= q.layout.pipeline * (q.layout.chunks - 1);
    if (s.predictions > 0 && !is_late) continue;
    if (s.first > layers) s.first = layers;
    std::vector<stage> more = all;
    more.push_back(s);
    divide_on(q, end, parts, more, c, least);
  }
}

std::optional<double> least_of_all(question q, constants const& c) {
  std::optional<double> least;
  q.layout.stages.clear();
  int const predictions = q.model.predictions, behind = q.layout.spreads_losses ? 2 * predictions
                                                        : predictions > 0       ? 1
                                                                                : 0;
  divide_on(q, 0, q.model.layer_count() + 2 + behind, {}, c, least);
  return least;
}

// Layers of several kinds, with a head that takes long.
question chained(random_case::dice& roll) {
  question q = asked(dense_model(1), 2);
  layer const plain = q.model.kinds[0];
  layer wide = plain;
  wide.feed.width *= 3;
  int const layers = roll.between(3, 8);
  for (int i = 1; i < layers; ++i) q.model.add(roll.percent(60) ? plain : wide);
  q.model.vocabulary = roll.percent(50) ? 32000 : 250000;
  q.model.predictions = roll.percent(30) ? roll.between(1, 2) : 0;
  q.layout.pipeline = roll.percent(50) ? 2 : 4;
  q.layout.data = q.cluster.device_count() / q.layout.pipeline;
  q.batch = q.layout.data * q.layout.pipeline * roll.between(1, 4);
  q.program.kind = program_kind::tuned;
  q.layout.sharding = sharding::optimizer;
  return q;
}

}  // namespace

TEST_CASE("dealing: under schedules that are executed, moves find the best division of small models") {
  random_case::dice roll(17);
  constants const c = round_constants();
  int exact = 0, all = 0;
  for (int k = 0; k < 24; ++k) {
    question q = chained(roll);
    bool const is_vee = k % 2 == 1;
    q.layout.order = catalog::find(is_vee ? "v-zb" : "zb-h1");
    q.layout.chunks = is_vee ? 2 : 1;
    q.batch = q.layout.data * q.layout.pipeline * 2;
    if (q.layout.pipeline * q.layout.chunks > q.model.layer_count() + 2) continue;
    dealing const found = deal_layers(q, c);
    std::optional<double> const least = least_of_all(q, c);
    REQUIRE(least);
    REQUIRE_FALSE(found.stages.empty());
    ++all;
    exact += found.seconds <= *least * (1 + 1e-9) ? 1 : 0;
    CHECK(found.seconds <= *least * 1.03);
    CHECK(found.seconds >= *least * (1 - 1e-9));
    CHECK(found.bound <= *least);
    q.layout.stages = found.stages;
    CHECK(predict_run(q, c, {}).step.seconds == found.seconds);
  }
  CHECK(all >= 10);
  CHECK(10 * exact >= 8 * all);
}

TEST_CASE("dealing: without virtual stages, no division that fits is faster") {
  random_case::dice roll(11);
  constants const c = round_constants();
  int refused = 0;
  for (int k = 0; k < 60; ++k) {
    question q = chained(roll);
    if (q.layout.pipeline > q.model.layer_count() + 2) continue;
    // Memory that some divisions fit in, and that none does.
    q.layout.stages = deal_evenly(q.model, q.layout);
    double const peak = predict_run(q, c, {}).peak;
    q.cluster.device().memory_bytes = peak * (0.8 + 0.05 * roll.between(0, 8)) + c.outside_bytes;
    dealing const found = deal_layers(q, c);
    std::optional<double> const least = least_of_all(q, c);
    REQUIRE(found.stages.empty() == !least);
    if (!least) {
      ++refused;
      continue;
    }
    CHECK(found.seconds == doctest::Approx(*least).epsilon(1e-9));
    CHECK(found.bound == found.seconds);
    q.layout.stages = found.stages;
    answer const a = predict_run(q, c, {});
    CHECK(a.fits);
    CHECK(a.step.seconds == found.seconds);
  }
  CHECK(refused > 0);
  CHECK(refused < 40);
}

TEST_CASE("dealing: losses on several stages, no division is faster, and it may pay") {
  random_case::dice roll(13);
  constants const c = round_constants();
  int shorter = 0;
  for (int k = 0; k < 30; ++k) {
    question q = chained(roll);
    q.model.predictor = q.model.at(0);
    q.model.predictions = roll.between(1, 2);
    q.layout.chunks = roll.percent(50) ? 2 : 1;
    if (q.layout.chunks == 2) q.layout.pipeline = 2;
    q.layout.data = q.cluster.device_count() / q.layout.pipeline;
    q.batch = q.layout.data * q.layout.pipeline * 2;
    double const together = deal_layers(q, c).seconds;
    q.layout.spreads_losses = true;
    dealing const found = deal_layers(q, c);
    double const least = least_of_all(q, c).value();
    if (q.layout.chunks == 1) CHECK(found.seconds == doctest::Approx(least).epsilon(1e-9));
    CHECK(found.seconds < least * 1.15);
    CHECK(found.bound <= least * (1 + 1e-9));
    CHECK(least <= together * (1 + 1e-9));
    if (found.seconds < together * 0.99) ++shorter;
  }
  CHECK(shorter > 5);
}

TEST_CASE("dealing: with virtual stages, it is no slower than the stages that it is given") {
  random_case::dice roll(14);
  constants const c = round_constants();
  for (int k = 0; k < 20; ++k) {
    question q = chained(roll);
    q.layout.pipeline = 2;
    q.layout.data = q.cluster.device_count() / 2;
    q.batch = q.layout.data * 4;
    q.layout.chunks = 2;
    int const layers = q.model.layer_count(), first = roll.between(0, layers - 2);
    q.layout.stages = {{.count = first, .has_embedding = true},
                       {.first = first, .count = 1},
                       {.first = first + 1, .count = layers - first - 1},
                       {.first = layers, .has_head = true, .predictions = q.model.predictions}};
    double const given = predict_run(q, c, {}).step.seconds;
    CHECK(deal_layers(q, c).seconds <= given * (1 + 1e-9));
  }
}

TEST_CASE("dealing: with virtual stages, the bound is below all divisions, and what is found is near") {
  random_case::dice roll(12);
  constants const c = round_constants();
  double sum = 0, worst = 1;
  for (int k = 0; k < 25; ++k) {
    question q = chained(roll);
    q.layout.pipeline = 2;
    q.layout.data = q.cluster.device_count() / 2;
    q.batch = q.layout.data * 2 * roll.between(1, 4);
    q.layout.chunks = 2;
    dealing const found = deal_layers(q, c);
    double const least = least_of_all(q, c).value();
    CHECK(found.bound <= least * (1 + 1e-9));
    CHECK(found.seconds >= least * (1 - 1e-9));
    sum += found.seconds / least;
    worst = std::max(worst, found.seconds / least);
  }
  CHECK(sum < 25 * 1.02);
  CHECK(worst < 1.15);
}

TEST_CASE("dealing: evenly, the ends have the fewest layers") {
  question q = asked(dense_model(126), 16);
  q.layout.pipeline = 16;
  std::vector<int> counts;
  for (stage const& s : deal_evenly(q.model, q.layout)) counts.push_back(s.count);
  CHECK(counts.front() == 7);
  CHECK(counts[1] == 8);
  CHECK(counts[14] == 8);
  CHECK(counts.back() == 7);
  q.layout.stages = deal_evenly(q.model, q.layout);
  CHECK(stages_of(q) == q.layout.stages);
}

// Embedding, layer and head, which takes no time.
TEST_CASE("dealing: in proportion, the last stage has the rest, though its share is reached before") {
  question const q = asked(dense_model(1));
  part_chain const chain(q.model, q.layout);
  std::vector<stage> const made = deal_in_proportion(chain, {1, 1, 0}, {1, 1});
  CHECK(chain.ends_of(made) == std::vector<int>{1, chain.count()});
}

// The last stage is better off with one part more. The busiest device has stage 0, which has one part.
TEST_CASE("dealing: in up to 64 stages, those of devices that wait give parts, too") {
  for (int count : {63, 64, 65}) {
    std::vector<int> ends{1};
    for (int s = 1; s < count; ++s) ends.push_back(ends.back() + 2);
    std::vector<int> const before = ends;
    int const parts = ends.back();
    auto const weigh = [&](std::vector<int> const& of) {
      int const last = parts - of[of.size() - 2];
      return dealing_detail::outcome{.over = 0, .seconds = last == 3 ? 1.0 : 2.0};
    };
    dealing_detail::outcome const found = dealing_detail::improved(
        ends, weigh(ends), weigh, [](int stage, int device) { return stage == device; },
        [] { return true; });
    CHECK(found.seconds == (count <= 64 ? 1 : 2));
    CHECK((ends == before) == (count > 64));
  }
}

// A layer, two predictions and three losses, and both ends.
TEST_CASE("dealing: evenly, no part is left over where stages are more than layers") {
  question q = asked(dense_model(1));
  q.model.predictions = 2;
  for (bool const is_spread : {false, true})
    for (int stages = 1; stages <= (is_spread ? 7 : 4); ++stages) {
      q.layout.spreads_losses = is_spread;
      q.layout.pipeline = stages;
      part_chain const chain(q.model, q.layout);
      std::vector<int> const ends = chain.ends_of(deal_evenly(q.model, q.layout));
      CHECK(static_cast<int>(ends.size()) == stages);
      CHECK(ends.back() == chain.count());
    }
}

}  // namespace ashlar::cost::testing
