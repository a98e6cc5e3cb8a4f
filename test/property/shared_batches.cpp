// Compares batches that kinds of devices share by speed with every way to share them.
#include "random.hpp"
#include "random_cases.hpp"
#include "random_transformer.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/plan.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

using namespace random_case;

namespace {

std::vector<catalog::entry const*> const one_schedule{catalog::find("1f1b")};

auto const in_silence = [](plan_phase, std::size_t, std::size_t) {};

plan_question shared_question(dice& d, int kinds, int batch) {
  plan_question q;
  q.model = random_transformer(d, 6);
  q.kinds.clear();
  for (int k = 0; k < kinds; ++k)
    q.kinds.push_back({.machine = {.flops = 1e9 / d.between(1, 4),
                                   .inside = 1e9 / d.between(1, 30),
                                   .between = 1e9 / d.between(1, 60),
                                   .memory = 1e12,
                                   .node_size = 2},
                       .constants = {1.0 + 0.1 * d.between(0, 9), 1.0},
                       .count = 2 * d.between(1, 2)});
  if (d.percent(30)) q.between_kinds = 1e9 / d.between(1, 90);
  q.batch = batch;
  q.largest_micro_batch = 2;
  q.levels = {sharding_level::none};
  return q;
}

double alone(plan_question q, int kind, int batch) {
  q.kind = kind;
  q.batch = batch;
  plan_answer const found = answer(q, one_schedule, 1, in_silence);
  return found.best.empty() ? std::numeric_limits<double>::infinity() : found.best[0].seconds;
}

}  // namespace

TEST_CASE("shared batches: each kind takes its plan's time, and no other sharing is much shorter") {
  double lost = 0, worst = 0;
  int cases = 0;
  FOR_SEEDS(random_cases(40)) {
    plan_question const q = shared_question(d, 2, d.between(2, 24));
    shared_batch const found = share_batch(q, one_schedule, in_silence);
    REQUIRE_MESSAGE(found.shares.size() == 2, "seed ", seed);
    double longest = 0;
    int all = 0;
    for (kind_share const& each : found.shares) {
      CHECK(each.step.seconds == alone(q, each.kind, each.batch));
      CHECK(each.step.plan.kinds == std::vector<int>{each.kind});
      longest = std::max(longest, each.step.seconds);
      all += each.batch;
    }
    CHECK(all == q.batch);
    CHECK(found.seconds() == longest + found.sum);
    double best = std::numeric_limits<double>::infinity();
    for (int first = 1; first < q.batch; ++first)
      best = std::min(best, std::max(alone(q, 0, first), alone(q, 1, q.batch - first)));
    CHECK_MESSAGE(longest >= best, "seed ", seed);
    lost += longest / best - 1;
    worst = std::max(worst, longest / best - 1);
    ++cases;
  }
  CHECK(lost / cases < 0.02);
  CHECK(worst < 0.3);
}

TEST_CASE("shared batches: kinds alike share alike, and a faster one never takes less") {
  FOR_SEEDS(random_cases(20)) {
    plan_question q = shared_question(d, 1, 16);
    q.kinds.push_back(q.kinds[0]);
    shared_batch const alike = share_batch(q, one_schedule, in_silence);
    REQUIRE(alike.shares.size() == 2);
    CHECK_MESSAGE(alike.shares[0].batch == 8, "seed ", seed);
    q.kinds[0].machine.flops *= 4;
    shared_batch const faster = share_batch(q, one_schedule, in_silence);
    CHECK_MESSAGE(faster.shares[0].batch >= 8, "seed ", seed);
    CHECK_MESSAGE(faster.seconds() <= alike.seconds(), "seed ", seed);
  }
}

TEST_CASE("shared batches: three kinds, and what cannot be shared") {
  FOR_SEEDS(random_cases(10)) {
    plan_question q = shared_question(d, 3, d.between(3, 12));
    shared_batch const found = share_batch(q, one_schedule, in_silence);
    REQUIRE(found.shares.size() == 3);
    CHECK(found.shares[0].batch + found.shares[1].batch + found.shares[2].batch == q.batch);
    // Two thirds of the gradients go there and back, from the kind with the least bandwidth.
    double const bytes = 2 * (2.0 / 3) * 4 * q.model.parameters();
    double longest = 0;
    for (device_kind const& k : q.kinds) {
      double const link =
          q.between_kinds > 0 ? std::min(k.machine.between, q.between_kinds) : k.machine.between;
      longest = std::max(longest, bytes / (link * k.count));
    }
    CHECK(found.sum == doctest::Approx(longest));
    q.batch = 2;
    CHECK(share_batch(q, one_schedule, in_silence).shares.empty());
    q.batch = 12;
    q.kinds[1].machine.memory = 1;  // cannot have the model
    CHECK(share_batch(q, one_schedule, in_silence).shares.empty());
    q.kinds.resize(1);
    CHECK(share_batch(q, one_schedule, in_silence).shares.empty());
  }
}
