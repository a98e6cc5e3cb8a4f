// Workers of several processes know, put together, what one worker of all would know of a step.
#include "conformance/relay.hpp"
#include <ashlar/conformance/programs.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

using namespace ashlar;
using conformance::network;
using conformance::sharded_network;

namespace {

constexpr double unknown = -std::numeric_limits<double>::infinity();

std::vector<double> together(std::vector<double> a, std::vector<double> const& b) {
  REQUIRE(a.size() == b.size());
  std::transform(a.begin(), a.end(), b.begin(), a.begin(),
                 [](double x, double y) { return std::max(x, y); });
  return a;
}
bool knows_some(std::vector<double> const& all) {
  return std::any_of(all.begin(), all.end(), [](double x) { return x != unknown; });
}
bool knows_all(std::vector<double> const& all) {
  return std::none_of(all.begin(), all.end(), [](double x) { return x == unknown; });
}

// Its stages are on several devices, held twice and tied, and work is on all of them.
program rich_program(lower_options options) {
  schedule const s = catalog::find("chimera")->make({devices{4}, micro_batches{4}});
  options.shared_parameters = {{0, s.stage_count() - 1}};
  return lower(conformance::with_random_work(s, 5, 6, false), options);
}

}  // namespace

TEST_CASE("network results: two that ran half of the devices each know what one knows") {
  program const p = rich_program({});
  network whole(p), even(p), odd(p);
  sequential all(p, whole);
  relay<network> halves([&](int device) -> network& { return device % 2 == 0 ? even : odd; });
  sequential split(p, halves);
  for (int step = 0; step < 2; ++step) {
    CHECK(!knows_some(even.results()));
    all.run();
    split.run();
    std::vector<double> const mine = even.results(), its = odd.results();
    CHECK(mine != its);
    CHECK(!knows_all(mine));
    CHECK(!knows_all(its));
    std::vector<double> const both = together(mine, its);
    for (network* half : {&even, &odd}) {
      half->adopt(both);
      CHECK(half->results() == both);
      for (int group = 0; group < p.groups.count(); ++group)
        CHECK(half->reductions(group) == static_cast<int>(p.groups.holders(group).size()));
    }
    network::outcome const expected = whole.take();
    CHECK(even.take() == expected);
    CHECK(odd.take() == expected);
  }
}

TEST_CASE("network results: what nobody knows changes nothing") {
  program const p = rich_program({});
  network w(p);
  sequential(p, w).run();
  std::vector<double> const before = w.results();
  w.adopt(std::vector<double>(before.size(), unknown));
  CHECK(w.results() == before);
}

TEST_CASE("network results: losses are by micro-batch, and taken once") {
  // There are two sinks: each micro-batch has the sum of both losses.
  schedule const s = catalog::one_f_one_b(devices{3})
                     | with_graph(stage_graph(stages{3}, {{0, 1}, {0, 2}})) | repeat(micro_batches{4})
                     | squeeze();
  program const p = lower(s, {.shared_parameters = {{1, 2}}});
  network w(p);
  sequential(p, w).run();
  std::vector<double> const all = w.results();
  network::outcome const out = w.take();
  REQUIRE(out.losses.size() == 4);
  // The results end with the losses by stage, stage after stage; those of stage 0 are unknown.
  std::size_t const first = all.size() - 12;
  for (std::size_t k = 0; k < 4; ++k) {
    CHECK(all[first + k] == unknown);
    CHECK(out.losses[k] == all[first + 4 + k] + all[first + 8 + k]);
    CHECK(out.losses[k] > all[first + 4 + k]);
  }
  network::outcome const again = w.take();
  CHECK(again.losses == std::vector<double>(4, 0.0));
  CHECK(again.gradients == std::vector<network::matrix>(3));
  CHECK(out.shared_gradients != again.shared_gradients);
  CHECK(again.shared_gradients == std::vector<network::vector>(1));
  CHECK(!knows_some(w.results()));
}

TEST_CASE("network results: data-parallel ranks put gradients, norms, weights and steps together") {
  for (auto level : {sharding_level::none, sharding_level::optimizer, sharding_level::full}) {
    CAPTURE(static_cast<int>(level));
    program const p =
        rich_program({.data_ranks = 2, .sharding = level, .step = optimizer_step::after_norm});
    sharded_network whole0(p, 0), whole1(p, 1), even0(p, 0), even1(p, 1), odd0(p, 0), odd1(p, 1);
    sharded_network idle(p, 1);  // runs nothing, and is only told
    sharded_relay rank0([&](int d) -> sharded_network& { return d % 2 == 0 ? even0 : odd0; });
    sharded_relay rank1([&](int d) -> sharded_network& { return d % 2 == 0 ? even1 : odd1; });
    sequential all(p, std::vector{&whole0, &whole1});
    sequential split(p, std::vector{&rank0, &rank1});
    for (int step = 1; step <= 3; ++step) {
      for (sharded_network* w : {&whole0, &whole1, &even0, &even1, &odd0, &odd1, &idle}) {
        w->forget();
        CHECK(w->norm() == unknown);
        CHECK(!knows_some(w->results()));
      }
      all.run();
      split.run();
      auto const gather = [&](sharded_network& even, sharded_network& odd, sharded_network& whole,
                              std::vector<sharded_network*> told) {
        std::vector<double> const both = together(even.results(), odd.results());
        for (sharded_network* half : told) {
          half->adopt(both);
          CHECK(half->norm() == whole.norm());
          CHECK(half->norm() > 0);
          CHECK(half->gradients() == whole.gradients());
          for (int group = 0; group < p.groups.count(); ++group) {
            CHECK(half->steps(group) == step);
            CHECK(std::ranges::equal(half->parameters(group), whole.parameters(group)));
            std::size_t const size = whole.parameters(group).size();
            bool const sharded = half->is_sharded(static_cast<std::size_t>(group));
            CHECK(sharded == (level != sharding_level::none && group < p.stage_count()));
            CHECK(nth(half->gradients(), group).size()
                  == (sharded ? half->part().size / sizeof(double) : size));
          }
        }
        network::outcome const expected = whole.take();
        for (sharded_network* half : told) CHECK(half->take() == expected);
      };
      gather(even0, odd0, whole0, {&even0, &odd0});
      gather(even1, odd1, whole1, {&even1, &odd1, &idle});
    }
  }
}
