// Stages whose backwards run on other devices than their forwards: threads give the bits of the
// sequential reference.
#include "equal_steps.hpp"
#include <ashlar/catalog/round_pipe.hpp>
#include <ashlar/conformance/data_parallel_ranks.hpp>
#include <ashlar/conformance/random_schedule.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/run/sequential.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/residency_rules.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using namespace ashlar;
using conformance::data_parallel_ranks;

namespace {

// A random schedule whose backwards go to devices of their own, each in the order of its start.
schedule with_other_backwards(std::uint64_t seed) {
  conformance::random_detail::dice d(seed);
  schedule s = conformance::random_schedule(seed);
  int const p = s.device_count() + d.below(3);
  std::vector<int> forwards, backwards;
  for (int stage = 0; stage < s.stage_count(); ++stage) {
    forwards.push_back(d.below(p));
    backwards.push_back(d.below(p));
  }
  placement const where(devices{p}, {forwards}, {backwards});
  std::vector<std::vector<pass>> orders(static_cast<std::size_t>(p));
  std::vector<time_slot> all;
  for (auto const& order : s.order) all.insert(all.end(), order.begin(), order.end());
  std::stable_sort(all.begin(), all.end(),
                   [](time_slot const& a, time_slot const& b) { return a.start < b.start; });
  for (time_slot const& t : all)
    orders[static_cast<std::size_t>(where.device_of(0, t.what.stage, result_of(t.what.kind)))].push_back(
        t.what);
  return squeeze(schedule_from_orders(where, s.route, s.cost, orders));
}

void check_bits(schedule const& s, lower_options const& how) {
  REQUIRE(check(s).ok());
  program const p = lower(s, how);
  REQUIRE(check(p).ok());
  data_parallel_ranks reference(p), threads(p);
  threads.spoil();
  sequential one_by_one(p, reference.workers());
  host::runtime runtime(p, threads.workers());
  for (int step = 0; step < 3; ++step) {
    one_by_one.run();
    runtime.run();
    for (int group = 0; group < p.groups.count(); ++group) {
      CHECK(threads.gradient(group) == reference.gradient(group));
      CHECK(threads.weights(group) == reference.weights(group));
    }
    CHECK(threads.agrees());
  }
}

}  // namespace

TEST_CASE("host: random stages that move, at every level of sharding") {
  int moving = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    schedule const s = with_other_backwards(seed);
    moving += s.where.moves() ? 1 : 0;
    auto const level = static_cast<sharding_level>(seed % 5);
    lower_options how{.data_ranks = 1 + static_cast<int>(seed % 2),
                      .sharding = level,
                      .step = seed % 3 == 0 ? optimizer_step::after_norm : optimizer_step::at_end};
    if (seed % 4 == 1) how.receives = receive_time::when_needed;
    check_bits(s, how);
    if (level == sharding_level::none) continue;
    how.weights = planned_residency(s, {.stages = 2, .lookahead = 2});
    check_bits(s, how);
  }
  CHECK(moving > 40);
}

TEST_CASE("host: stages that move have the gradients of those that stay, bit by bit") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    schedule const moved = with_other_backwards(seed), stays = conformance::random_schedule(seed);
    program const p = lower(moved, {.step = optimizer_step::at_end}),
                  q = lower(stays, {.step = optimizer_step::at_end});
    check_equal_steps(p, q);
  }
}

TEST_CASE("host: RoundPipe with weights that are fetched for each task and given up behind it") {
  for (int p : {1, 2, 3, 4})
    for (int rounds : {1, 2}) {
      CAPTURE(p);
      CAPTURE(rounds);
      catalog::round_pipe_cut const cut = catalog::plan_round_pipe(
          {.forwards = {2, 2, 2, 2, 2, 2, 5}, .backwards = {6, 6, 6, 6, 6, 6, 15}}, p);
      schedule const s = catalog::round_pipe(devices{p}, micro_batches{3}, cut, {}, rounds);
      residency const weights = catalog::round_pipe_residency(devices{p}, micro_batches{3}, cut, rounds);
      REQUIRE(check(weights, s).ok());
      for (sharding_level level : {sharding_level::weights, sharding_level::full})
        for (int ranks : {1, 2})
          check_bits(s, {.data_ranks = ranks,
                         .sharding = level,
                         .weight_buffers = catalog::most_layers(cut),
                         .weights = weights,
                         .step = optimizer_step::after_norm});
    }
}
