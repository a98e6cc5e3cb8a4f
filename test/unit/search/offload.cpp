#include <ashlar/search/offload.hpp>
// The header above comes first: it needs nothing before it.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/search/offload_search.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

using namespace ashlar;

namespace {

constexpr stage_cost offload_thirds{.forward = 10, .backward_input = 10, .backward_weight = 10};

schedule offload_schedule(char const* name, int p, int m) {
  return retime(catalog::find(name)->make({.p = devices{p}, .m = micro_batches{m}}),
                costs(offload_thirds));
}

memory_limit offload_limit(byte_count budget) {
  memory_limit limit{.memory = {}, .budget = {budget}};
  limit.memory.stages[0].stash = 100;
  return limit;
}

// A simulation of the program with the same copies.
simulation offload_simulation(schedule const& s, memory_limit const& limit, host_link const& host,
                              offload_options const& offload) {
  simulation_options o;
  o.cost = s.cost;
  o.cost.on.host = host;
  o.memory = limit.memory;
  program const p = lower(s, {.offload = offload});
  REQUIRE(check(p).ok());
  return simulate(p, o);
}

TEST_CASE("a copy takes as long as the link says, of what a forward keeps") {
  memory_model memory;
  memory.stages = {{.stash = 100}, {.checkpoint = 30, .stash = 100}};
  CHECK(copy_times(memory, 2, {.speed = {.latency = 1, .bandwidth = 10}}) == std::vector<tick>{11, 4});
  CHECK(copy_times(memory, 2, {.speed = {.bandwidth = 10}, .shared_by = 2}) == std::vector<tick>{20, 6});
  memory = {.stages = {{.stash = 10}, {.stash = 70}}, .micro_batches = 2};  // the longest of its own
  CHECK(copy_times(memory, 1, {.speed = {.bandwidth = 10}}) == std::vector<tick>{7});
}

// One device, whose forwards end at 10, `second` and 30, and whose backwards of 10 ticks start at 30 in
// the order 0, 2, 1.
schedule offload_one_device(tick second) {
  pass_costs each =
      pass_costs::by_stage_and_micro_batch({{10, 5, 5}, {second - 10, 5, 5}, {30 - second, 5, 5}}, 3);
  return squeeze(schedule_from_orders(linear(devices{1}), {0, 0, 0}, costs(std::move(each), 0),
                                      {{{pass_kind::forward, 0, 0},
                                        {pass_kind::forward, 0, 1},
                                        {pass_kind::forward, 0, 2},
                                        {pass_kind::backward, 0, 0},
                                        {pass_kind::backward, 0, 2},
                                        {pass_kind::backward, 0, 1}}}));
}

TEST_CASE("a value takes memory of the host from the start of its copy there to the end of that back") {
  schedule const s = offload_one_device(27);
  std::vector<pass> const both{{pass_kind::forward, 0, 0}, {pass_kind::forward, 0, 1}};
  // The first is away from 10 to 16, and comes back from 24 to 30; the second leaves at 27.
  offload_choice const c = offload_exactly(s, offload_limit(300), {.speed = {.latency = 6}}, both);
  CHECK((c.fits && c.host_peak == std::vector<byte_count>{200}));
  // The device holds the second until 33, when the first is back and the third is there.
  CHECK(c.peak == std::vector<byte_count>{300});
}

TEST_CASE("a share leaves as far as no copy makes another late") {
  // Copies of 5 ticks: the second leaves from 29 to 34, so the third could not be back at 40.
  offload_choice const c =
      offload_share(offload_one_device(29), offload_limit(0).memory, {.speed = {.latency = 5}}, 100);
  std::vector<pass> left = c.offload.forwards;
  std::sort(left.begin(), left.end(),
            [](pass const& a, pass const& b) { return a.micro_batch < b.micro_batch; });
  CHECK(left == std::vector<pass>{{pass_kind::forward, 0, 0}, {pass_kind::forward, 0, 1}});
}

TEST_CASE("a value stays that would begin to come back when most is held") {
  // The values live from 1 to 29, from 6 to 31, and from 12 to 30; the last is read at once.
  pass_costs each =
      pass_costs::by_stage_and_micro_batch({{1, 0, 1}, {5, 1, 1}, {6, 0, 1}, {10, 1, 6}}, 4);
  std::vector<pass> order;
  for (int k : {0, 1, 2, 3}) order.push_back({pass_kind::forward, 0, k});
  for (int k : {3, 0, 2, 1}) order.push_back({pass_kind::backward, 0, k});
  schedule const s = squeeze(schedule_from_orders(linear(devices{1}), {0, 0, 0, 0},
                                                  costs(std::move(each), 0), {std::move(order)}));
  // When the first two are away, most is held at 27. The third would have to come back from 27 to 29.
  offload_choice const c = selective_offload(s, offload_limit(100), {.speed = {.latency = 2}});
  CHECK(c.offload.forwards == std::vector<pass>{{pass_kind::forward, 0, 0}, {pass_kind::forward, 0, 1}});
}

TEST_CASE("a value leaves if it may just be back in time") {
  schedule const s = offload_one_device(20);  // the first lives from 10 to 30
  std::vector<pass> const first{{pass_kind::forward, 0, 0}};
  CHECK(offload_exactly(s, offload_limit(300), {.speed = {.latency = 10}}, first).fits);
  CHECK(!offload_exactly(s, offload_limit(300), {.speed = {.latency = 11}}, first).fits);
}

TEST_CASE("what lives longest leaves first, as little as is needed, and the simulation agrees") {
  host_link const host{.speed = {.bandwidth = 20}};  // half of a forward
  for (char const* name : {"gpipe", "1f1b", "eager-1f1b", "zb-h2", "interleaved-zb", "v-zb"})
    for (int share : {90, 75, 60}) {
      schedule const s = offload_schedule(name, 4, 8);
      memory_limit limit = offload_limit(0);
      std::vector<byte_count> const held = peak_memory(s, limit.memory);
      byte_count const all = *std::max_element(held.begin(), held.end());
      limit.budget = {all * share / 100};
      offload_choice const choice = selective_offload(s, limit, host);
      CAPTURE(name);
      CAPTURE(share);
      if (!choice.fits) continue;
      simulation const run = offload_simulation(s, limit, host, choice.offload);
      CHECK(run.makespan() == makespan(s));
      for (std::size_t d = 0; d < run.memory.size(); ++d) {
        CHECK(run.memory[d].peak <= limit.budget[0]);
        CHECK(run.memory[d].peak == choice.peak[d]);
        CHECK(run.memory[d].host_peak == choice.host_peak[d]);
      }
    }
}

// Backwards take twice as long as forwards and come in the same order, so later values live longer.
TEST_CASE("if one stash is too many, the one that lives longest of those that can be away leaves") {
  schedule const s = offload_schedule("gpipe", 2, 8);
  memory_limit limit = offload_limit(800);
  limit.budget = {700, 800};
  offload_choice const choice = selective_offload(s, limit, {});
  CHECK(choice.fits);
  CHECK(choice.offload.forwards == std::vector<pass>{{pass_kind::forward, 0, 6}});  // 7 makes the peak
}

TEST_CASE(
    "more than half of a device's activations leave for nothing where a copy is half as long as a "
    "pass") {
  schedule const s = offload_schedule("1f1b", 4, 32);
  memory_limit const limit = offload_limit(0);
  std::vector<byte_count> const before = peak_memory(s, limit.memory);
  offload_choice const some = offload_share(s, limit.memory, {.speed = {.bandwidth = 20}}, 60);
  std::vector<int> left(4, 0);
  for (pass const& each : some.offload.forwards) ++left[static_cast<std::size_t>(each.stage)];
  CHECK(left == std::vector<int>{19, 19, 19, 0});  // of 32; the last device's backwards come at once
  CHECK(some.peak[0] < before[0]);
  CHECK(offload_simulation(s, limit, {.speed = {.bandwidth = 20}}, some.offload).makespan()
        == makespan(s));
  CHECK(offload_share(s, limit.memory, {}, 0).offload.forwards.empty());
  // A link that takes as long as all of the step carries nothing.
  CHECK(
      offload_share(s, limit.memory, {.speed = {.latency = makespan(s)}}, 100).offload.forwards.empty());
}

// Orders are fixed, so nothing starts later than with all copies as late as they may be.
TEST_CASE("copies that are planned for a slower link may take that much longer, and delay nothing") {
  constexpr tick slack = 7;
  int tried = 0, delayed = 0;
  for (char const* name : {"gpipe", "1f1b", "eager-1f1b", "zb-h2", "v-zb"})
    for (int share : {90, 75, 60}) {
      schedule const s = offload_schedule(name, 4, 8);
      memory_limit limit = offload_limit(0);
      std::vector<byte_count> const held = peak_memory(s, limit.memory);
      limit.budget = {*std::max_element(held.begin(), held.end()) * share / 100};
      auto const link = [](tick late) { return host_link{.speed = {.latency = late, .bandwidth = 20}}; };
      offload_choice const tight = selective_offload(s, limit, link(0)),
                           roomy = selective_offload(s, limit, link(slack));
      if (!tight.fits || !roomy.fits) continue;
      CAPTURE(name);
      CAPTURE(share);
      auto const step = [&](offload_choice const& c, tick late) {
        simulation const run = offload_simulation(s, limit, link(late), c.offload);
        for (device_memory const& each : run.memory) CHECK(each.peak <= limit.budget[0]);
        return run.makespan();
      };
      for (tick late = 0; late <= slack; ++late) CHECK(step(roomy, late) == makespan(s));
      ++tried;
      delayed += step(tight, slack) > makespan(s);
    }
  CHECK(tried >= 6);
  CHECK(delayed > 0);
}

TEST_CASE("what does not fit is said not to") {
  schedule const s = offload_schedule("gpipe", 2, 4);
  CHECK(selective_offload(s, offload_limit(400), {}).offload.forwards.empty());
  CHECK(selective_offload(s, offload_limit(400), {}).fits);
  CHECK(!selective_offload(s, offload_limit(99), {}).fits);
  CHECK(!selective_offload(s, offload_limit(200), {.speed = {.bandwidth = 1}}).fits);
  memory_limit wrong = offload_limit(400);
  wrong.budget = {1, 2, 3};
  CHECK_THROWS_AS(static_cast<void>(selective_offload(s, wrong, {})), violation);
}

TEST_CASE("of what shall leave exactly, it is said what does not come back in time") {
  schedule const s = offload_schedule("gpipe", 2, 4);
  std::vector<pass> const one{{pass_kind::forward, 0, 1}};
  auto const leaving = [&](host_link const& host) {
    return offload_exactly(s, offload_limit(400), host, one);
  };
  CHECK(leaving({}).fits);
  CHECK(leaving({}).offload.forwards == one);
  CHECK(!leaving({.speed = {.latency = makespan(s)}}).fits);
  CHECK(!offload_exactly(s, offload_limit(300), {}, one).fits);
  for (pass const& wrong : {pass{pass_kind::forward, 7, 1}, pass{pass_kind::backward, 0, 1}})
    CHECK_THROWS_AS(static_cast<void>(offload_exactly(s, offload_limit(400), {}, {wrong})), violation);
  CHECK_THROWS_AS(static_cast<void>(offload_exactly(s, offload_limit(400), {}, {one[0], one[0]})),
                  violation);
}

search_problem offload_problem(byte_count budget) {
  return {.where = linear(devices{3}),
          .m = micro_batches{4},
          .cost = costs(offload_thirds),
          .limit = offload_limit(budget)};
}

TEST_CASE(
    "a search that may offload is never worse, and less memory or bandwidth never makes it better") {
  search_budget const budget{.passes = 40'000, .aim = objective::makespan};
  for (byte_count const limit : {100, 200}) {
    search_result const plain = search(offload_problem(limit), budget);
    tick before = plain.reached;
    for (byte_count const bandwidth : {1, 10, 20, 0}) {  // 0: bytes take no time
      host_link const host{.speed = {.bandwidth = bandwidth}};
      auto const found = search_offloaded(offload_problem(limit), host, budget, &plain);
      REQUIRE(found);
      CAPTURE(bandwidth);
      CHECK(found->reached <= before);
      CHECK(found->reached >= found->least.makespan);
      before = found->reached;
      simulation const run =
          offload_simulation(found->best, offload_limit(limit), host, found->choice.offload);
      CHECK(run.makespan() == found->reached);
      for (device_memory const& m : run.memory) CHECK(m.peak <= limit);
    }
    CHECK(before < plain.reached);
  }
}

TEST_CASE("copies make do with less memory than any schedule without them") {
  search_problem problem = offload_problem(100);
  problem.where = v_shape(devices{2});  // two stages a device: a micro-batch holds two stashes
  CHECK(check(problem).broken == rule::parameter_is_at_least);
  search_budget const budget{.passes = 20'000, .aim = objective::makespan};
  auto const found = search_offloaded(problem, {}, budget);
  REQUIRE(found);
  for (byte_count const peak : found->choice.peak) CHECK(peak <= 100);
  problem.limit.budget = {-1};
  CHECK_THROWS_AS(static_cast<void>(search_offloaded(problem, {}, budget)), violation);
}

}  // namespace
