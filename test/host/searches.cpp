// Schedules from a search, run on threads, give the bits of the sequential reference.
#include "limits.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/conformance/network.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/host/task_threads.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>
#include <ashlar/search/layouts.hpp>
#include <ashlar/search/search.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

using namespace ashlar;

namespace {

struct searched {
  placement where;
  int m;
  memory_limit limit;
  int sequence_chunks = 1;
};

TEST_CASE("host: searched schedules are proved and give the sequential bits") {
  std::vector<searched> const problems{
      {linear(devices{1}), 3, chunk_activations(1)},
      {linear(devices{2}), 5, chunk_activations(2)},
      {linear(devices{4}), 8, chunk_activations(3)},
      {v_shape(devices{3}), 6, chunk_activations(2)},
      {v_shape(devices{4}), 8, chunk_activations(5)},
      {looped(devices{3}, chunks{2}), 7, chunk_activations(5)},
      {wave(devices{2}, waves{2}), 5, chunk_activations(6)},
      {placement(devices{3}, {{2, 0, 0, 1, 2}}), 6, chunk_activations(4)},
      {v_shape(devices{4}), 6,
       limits::sized({60, 40, 40, 60}, {10}, {3})},  // given back by the input pass
      {v_shape(devices{4}), 6,
       limits::recomputing(limits::sized({45}, {10}, {10}), 8, {0, 1, 2, 3, 5}, 1)},  // recomputed
      {linear(devices{3}), 2, chunk_activations(7), 4},
      {v_shape(devices{2}), 2, limits::recomputing(limits::sized({60}, {10}, {4}), 4, {1, 2}, 2), 3},
  };
  std::uint64_t seed = 1;
  for (searched const& s : problems)
    for (objective aim : {objective::span, objective::makespan, objective::both, objective::program}) {
      CAPTURE(s.where.stage_count());
      CAPTURE(s.m);
      CAPTURE(static_cast<int>(aim));
      std::vector<stage_cost> each;
      for (int stage = 0; stage < s.where.stage_count(); ++stage)
        each.push_back({10, 13 + stage % 2, 7});
      search_result const found = search({.where = s.where,
                                          .m = micro_batches{s.m},
                                          .cost = costs(each, 1),
                                          .limit = s.limit,
                                          .sequence_chunks = s.sequence_chunks},
                                         {.passes = 20'000, .seed = seed, .aim = aim});
      for (transfer_lanes lanes :
           {transfer_lanes::one, transfer_lanes::one_a_peer, transfer_lanes::one_a_direction}) {
        program const p = lower(found.best, {lanes});
        REQUIRE(check(p).ok());
        conformance::network network(p.stage_count(), p.micro_batch_count());
        sequential(p, network).run();
        conformance::network::outcome const expected = network.take();
        network.delays = seed++;
        host::runtime(p, network).run();
        CHECK(network.take() == expected);
      }
    }
}

TEST_CASE("host: tasks run once each, also those of tasks, and the first error is thrown") {
  for (int count : {0, 1, 2, 7}) {
    host::task_threads const threads(count);
    std::vector<int> ran(60, 0);
    threads(6, [&](std::size_t i) { threads(10, [&](std::size_t k) { ++ran[10 * i + k]; }); });
    CHECK(ran == std::vector<int>(60, 1));
    threads(0, [](std::size_t) { FAIL("there is none"); });
    std::atomic<int> all = 0;
    auto const fails = [&](std::size_t i) {
      ++all;
      if (i % 3 == 2) throw std::runtime_error(std::to_string(i));
    };
    CHECK_THROWS_WITH_AS(threads(9, fails), "2", std::runtime_error);
    CHECK(all == 9);
  }
}

TEST_CASE("host: a search finds the same with any number of threads") {
  search_problem const problem{.where = v_shape(devices{4}),
                               .m = micro_batches{8},
                               .cost = costs(stage_cost{10, 13, 7}, 1),
                               .limit = chunk_activations(4)};
  search_budget const race{.passes = 1'000'000, .seed = 3, .aim = objective::span};
  search_result const one = search(problem, race);
  REQUIRE(one.passes >= race.passes);  // solved at once, there would be no race
  for (int count : {2, 5}) {
    search_result const shared = search(problem, race, unwatched, host::task_threads(count));
    CHECK(shared.best == one.best);
    CHECK(shared.passes == one.passes);
  }
  std::vector<layout_choice> const layouts =
      layouts_for({devices{3}, micro_batches{6}, costs({20, 26, 14}, 1)}, 50);
  search_budget const budget{.passes = 300'000, .aim = objective::span};
  std::vector<searched_layout> const alone = search_layouts(layouts, budget),
                                     shared = search_layouts(layouts, budget, host::task_threads(4));
  REQUIRE(alone.size() == shared.size());
  for (std::size_t i = 0; i < alone.size(); ++i) CHECK(alone[i].result.best == shared[i].result.best);
}

}  // namespace
