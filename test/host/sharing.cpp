// Data-parallel ranks on the host give the bits of the sequential reference, for all shared values at
// all times.
#include "../shapes.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/conformance/data_parallel_ranks.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>
#include <ashlar/schedule/from_orders.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace ashlar;
using conformance::data_parallel_ranks;

namespace {

struct sample {
  std::string name;
  schedule made;
};

std::vector<sample> samples() {
  std::vector<sample> all;
  for (char const* name : {"gpipe", "1f1b", "zb-h1", "v-half"})
    all.push_back({name, catalog::find(name)->make({devices{3}, micro_batches{3}})});
  all.push_back({"two ways", shapes::two_ways(2) | repeat(micro_batches{4}) | squeeze()});
  all.push_back({"recompute", shapes::recomputed(2) | repeat(micro_batches{3})});
  all.push_back({"fork and join", shapes::fork_join() | repeat(micro_batches{2})});
  // There are two chunks a device, micro-batch by micro-batch: every buffer is given up again and again.
  constexpr auto F = pass_kind::forward, B = pass_kind::backward;
  all.push_back({"looped", squeeze(schedule_from_orders(looped(devices{1}, chunks{3}), {0, 0}, {},
                                                        {{{F, 0, 0},
                                                          {F, 1, 0},
                                                          {F, 2, 0},
                                                          {B, 2, 0},
                                                          {B, 1, 0},
                                                          {B, 0, 0},
                                                          {F, 0, 1},
                                                          {F, 1, 1},
                                                          {F, 2, 1},
                                                          {B, 2, 1},
                                                          {B, 1, 1},
                                                          {B, 0, 1}}}))});
  return all;
}

constexpr sharding_level levels[] = {sharding_level::none, sharding_level::optimizer,
                                     sharding_level::gradients, sharding_level::weights,
                                     sharding_level::full};
constexpr gradient_reduction reduction_times[] = {gradient_reduction::at_end, gradient_reduction::eager,
                                                  gradient_reduction::eager_middle_last};

// Makes five steps at each level of sharding, with parameters that the first and the last stage have in
// common.
void check_learning(schedule const& s, optimizer_step how) {
  std::vector<std::vector<double>> expected;
  for (sharding_level level : levels) {
    program const p = lower(s, {.data_ranks = 2,
                                .sharding = level,
                                .step = how,
                                .shared_parameters = {{0, s.stage_count() - 1}}});
    data_parallel_ranks threads(p);
    host::runtime runtime(p, threads.workers());
    for (int step = 0; step < 5; ++step) runtime.run();
    for (int group = 0; group < p.groups.count(); ++group) {
      auto const at = static_cast<std::size_t>(group);
      if (level == sharding_level::none) {
        expected.push_back(threads.weights(group));
        continue;
      }
      std::vector<double> const found = threads.weights(group);
      REQUIRE(found.size() == expected[at].size());
      for (std::size_t i = 0; i < found.size(); ++i)
        CHECK(found[i] == doctest::Approx(expected[at][i]).epsilon(1e-12));
    }
  }
}

}  // namespace

TEST_CASE("host: ranks give the bits of the sequential reference, step after step") {
  std::uint64_t seed = 1;
  for (sample const& s : samples())
    for (sharding_level level : levels)
      for (gradient_reduction when : reduction_times)
        for (int ranks : {2, 3}) {
          if (ranks == 3 && when != gradient_reduction::eager) continue;
          CAPTURE(s.name);
          CAPTURE(static_cast<int>(level));
          CAPTURE(static_cast<int>(when));
          CAPTURE(ranks);
          lower_options how{.data_ranks = ranks,
                            .reduction = when,
                            .sharding = level,
                            .weight_buffers = 1 + static_cast<int>(seed % 2),
                            .step = optimizer_step::after_norm};
          if (seed % 3 != 0) how.shared_parameters = {{0, s.made.stage_count() - 1}};
          program const p = lower(s.made, how);
          data_parallel_ranks reference(p), threads(p);
          threads.spoil();
          threads.delay(seed++);
          sequential one_by_one(p, reference.workers());
          host::runtime runtime(p, threads.workers());
          for (int step = 1; step <= 3; ++step) {
            one_by_one.run();
            runtime.run();
            for (int group = 0; group < p.groups.count(); ++group) {
              CHECK(threads.gradient(group) == reference.gradient(group));
              CHECK(threads.gradient(group).size() == (group < p.stage_count() ? 9 : 3));
              CHECK(threads.weights(group) == reference.weights(group));
              for (conformance::sharded_network* w : threads.workers()) {
                CHECK(w->steps(group) == step);
                CHECK(w->reductions(group) == step * static_cast<int>(p.groups.holders(group).size()));
              }
            }
            CHECK(threads.agrees());
            CHECK(threads.workers()[0]->norm() == reference.workers()[0]->norm());
            CHECK(threads.workers()[1]->norm() == threads.workers()[0]->norm());
            CHECK(threads.workers()[0]->norm() > 0);
          }
        }
}

TEST_CASE("host: where each device adds up its micro-batches in one go, the ranks' sums add up") {
  // The expected sums do not use the reference with ranks: each rank's gradients by itself, added in
  // order of rank.
  for (char const* name : {"gpipe", "1f1b", "zb-h1", "v-half"})
    for (sharding_level level : {sharding_level::none, sharding_level::optimizer}) {
      schedule const s = catalog::find(name)->make({devices{3}, micro_batches{4}});
      std::vector<std::vector<int>> const common{{0, s.stage_count() - 1}};
      program const alone = lower(s, {.shared_parameters = common}),
                    both = lower(s, {.data_ranks = 2, .sharding = level, .shared_parameters = common});
      data_parallel_ranks threads(both);
      host::runtime(both, threads.workers()).run();
      std::vector<std::vector<double>> sum;
      for (int rank : {0, 1}) {
        conformance::sharded_network w(alone, 0);
        w.first_micro_batch = 4 * rank;
        sequential(alone, w).run();
        for (std::size_t stage = 0; stage < w.gradients().size(); ++stage)
          if (rank == 0)
            sum.push_back(w.gradients()[stage]);
          else
            for (std::size_t i = 0; i < sum[stage].size(); ++i) sum[stage][i] += w.gradients()[stage][i];
      }
      for (int stage = 0; stage < both.stage_count(); ++stage)
        CHECK(threads.gradient(stage) == sum[static_cast<std::size_t>(stage)]);
      // The sum goes over each holder's ranks first: the same sum in another order.
      std::vector<double> const found = threads.gradient(both.stage_count());
      REQUIRE(found.size() == sum.back().size());
      for (std::size_t i = 0; i < found.size(); ++i)
        CHECK(found[i] == doctest::Approx(sum.back()[i]).epsilon(1e-12));
    }
}

TEST_CASE("host: sharding changes where things lie, not what is learnt") {
  for (char const* name : {"v-half", "zb-h1", "dualpipe"})
    for (optimizer_step how : {optimizer_step::at_end, optimizer_step::after_norm})
      check_learning(catalog::find(name)->make({devices{2}, micro_batches{4}}), how);
}

TEST_CASE("host: an exception on one rank ends the step of all, and the runtime can be used again") {
  program const p = lower(catalog::find("v-half")->make({devices{2}, micro_batches{3}}),
                          {.data_ranks = 2, .sharding = sharding_level::full});
  data_parallel_ranks threads(p);
  host::runtime runtime(p, threads.workers());
  runtime.run();
  std::vector<double> const right = threads.gradient(1);
  for (instruction const& i : p.instructions) {
    if (i.code != opcode::compute || i.what.micro_batch != 1) continue;
    threads.workers()[1]->before_pass = [&](pass what) {
      if (what == i.what) throw std::runtime_error("out of luck");
    };
    CHECK_THROWS_AS(runtime.run(), std::runtime_error);
    threads.workers()[1]->before_pass = [](pass) {};
    runtime.run();
    CHECK(threads.gradient(1) == right);
  }
}

TEST_CASE("host: workers that are too few, or cannot do what a program asks, are refused") {
  schedule const s = catalog::find("1f1b")->make({devices{2}, micro_batches{2}});
  program const p = lower(s, {.data_ranks = 2, .sharding = sharding_level::full});
  data_parallel_ranks threads(p);
  conformance::sharded_network& one = *threads.workers()[0];
  CHECK_THROWS_AS(host::runtime(p, one), std::invalid_argument);
  CHECK_THROWS_AS(sequential(p, one), std::invalid_argument);
  conformance::network plain(2, 2);
  std::vector<conformance::network*> const two{&plain, &plain};
  CHECK_THROWS_AS(host::runtime(p, two), std::invalid_argument);
  CHECK_THROWS_AS(sequential(p, two), std::invalid_argument);
  program const steps = lower(s, {.step = optimizer_step::at_end});
  CHECK_THROWS_AS(host::runtime(steps, plain), std::invalid_argument);
}
