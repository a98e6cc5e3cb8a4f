#include <ashlar/simulate/durations.hpp>
// The header above comes first: it needs nothing before it.
#include "mutate.hpp"
#include "options_of.hpp"
#include "shapes.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <cstddef>

using namespace shapes;
using namespace mutate;

namespace {

// Stages 0 and 1, one wide and one narrow, both feed stage 2; each on a device of its own.
constexpr schedule fan_in() {
  block b = make_block(linear(devices{3}), costs{}, 9, {F, B}, [](pass_kind kind, int stage) {
    return tick{kind == F ? (stage == 2 ? 1 : 0) : stage == 2 ? 2 : 4};
  });
  return with_graph(b, stage_graph(stages{3}, {{0, 2}, {1, 2}})) | repeat(micro_batches{2}) | squeeze();
}

constexpr simulation_options wide_and_narrow() {
  simulation_options o{.cost = {}, .memory = {.stages = std::vector<stage_memory>(3)}};
  o.cost.on.links.inside = {.latency = 5, .bandwidth = 1};
  o.memory.stages[0] = {.activation = 100, .gradient = 200};
  o.memory.stages[1] = {.activation = 3, .gradient = 7};
  o.memory.stages[2] = {.activation = 1'000'000, .gradient = 1'000'000};  // nobody is given that
  return o;
}

TEST_CASE("a gradient is as wide as what it is the gradient of") {
  program const p = lower(fan_in());
  simulation_options const o = wide_and_narrow();
  auto const ticks = [&](int device, opcode code, pass what, int to) {
    for (instruction const& i : p.view().stream(device))
      if (i.code == code && i.what == what && i.to == to)
        return time_of_transfer(o, i, device, p.graph).all;
    return tick{-1};
  };
  CHECK(ticks(0, opcode::send, {F, 0, 0}, 2) == 5 + 100);
  CHECK(ticks(1, opcode::send, {F, 1, 0}, 2) == 5 + 3);
  CHECK(ticks(2, opcode::send, {B, 2, 1}, 0) == 5 + 200);
  CHECK(ticks(2, opcode::send, {B, 2, 1}, 1) == 5 + 7);
  CHECK(ticks(0, opcode::receive, {B, 2, 1}, 0) == 5 + 200);
}

TEST_CASE("a message is as large as that of its micro-batch") {
  program const p = lower(one_f_one_b(2, 2));
  simulation_options o{.cost = {},
                       .memory = {.stages = std::vector<stage_memory>(4), .micro_batches = 2}};
  o.cost.on.links.inside.bandwidth = 1;
  o.memory.stages[0].activation = 10;
  o.memory.stages[1].activation = 20;
  auto const ticks = [&](int micro_batch) {
    instruction const& send =
        p.view().stream(0)[static_cast<std::size_t>(find(p, 0, opcode::send, {F, 0, micro_batch}))];
    return time_of_transfer(o, send, 0, p.graph).all;
  };
  CHECK((ticks(0) == 10 && ticks(1) == 20));
}

TEST_CASE("slots are as large as the value of the edge that they hold") {
  program const p = lower(fan_in(), {.slots = slot_reuse::never});
  REQUIRE(check(p).ok());
  simulation const run = simulate(p, wide_and_narrow());
  // For each of two micro-batches it holds what comes, and the gradients that go back.
  CHECK(run.memory[2].reserved == 2 * (100 + 3 + 200 + 7));
  CHECK(run.memory[0].reserved == 2 * (100 + 200));
  CHECK(run.memory[1].reserved == 2 * (3 + 7));
}

TEST_CASE("a transfer for a stage that there is not is refused") {
  program p = lower(fan_in());
  at(p, 0, find(p, 0, opcode::send, {F, 0, 0})).to = 3;
  CHECK_THROWS_AS(simulate(p, wide_and_narrow()), violation);
  CHECK(wide_and_narrow().size_of({.kind = slot_kind::gradient, .of = 2, .to = 7}, 3) == 0);
}

TEST_CASE("links by pair: each message takes what its own link takes") {
  schedule const s = one_f_one_b(4, 1);
  simulation_options o{.cost = s.cost, .memory = {.stages = {{.activation = 60, .gradient = 60}}}};
  o.cost.on.links = {.inside = {.latency = 1, .bandwidth = 60},
                     .between = {.latency = 9, .bandwidth = 6},
                     .node_size = 2};
  CHECK(simulate(lower(s), o).makespan() == 12 + 2 * (2 + 19 + 2));
  // The schedule of the same costs knows one size of messages.
  CHECK(makespan(retime(s, {o.cost.passes, o.cost.on, 60})) == 12 + 2 * (2 + 19 + 2));
}

TEST_CASE("a device at half the speed takes twice as long when simulated, too") {
  schedule s = one_f_one_b(3, 4);
  s.cost.on.speeds = {100, 50, 200};
  s = squeeze(s);
  simulation const run = simulate(lower(s), {.cost = s.cost});
  CHECK(run.makespan() == makespan(s));
  CHECK(run.usage[0].busy == 4 * 3);
  CHECK(run.usage[1].busy == 4 * 6);
  CHECK(run.usage[2].busy == 4 * 3);  // of passes of one tick none is shorter
}

// One message each way between two devices, 3 ticks of latency and 100 bytes at 10 bytes a tick.
TEST_CASE("a transfer takes its latency and a tick for every bandwidth bytes begun") {
  schedule const s = one_f_one_b(2, 1);
  simulation_options o{.cost = s.cost, .memory = {.stages = {{.activation = 100, .gradient = 101}}}};
  o.cost.on.links.inside = {.latency = 3, .bandwidth = 10};
  program const p = lower(s);
  simulation const run = simulate(p, o);
  // The step is F 1, transfer 13, F 1, B 2, transfer 3 + 11, B 2.
  CHECK(run.makespan() == 1 + 13 + 1 + 2 + 14 + 2);
  CHECK(run.usage[0] == device_usage{.busy = 3, .warm_up = 16, .exposed = 14});
  CHECK(run.usage[1] == device_usage{.busy = 3, .warm_up = 1, .cool_down = 16, .exposed = 13});
  CHECK(simulate(p, {.cost = s.cost}).makespan() == 6);
}

TEST_CASE("gradients are reduced over data-parallel ranks and replicas") {
  schedule const s = one_f_one_b(1, 4);
  for (int r : {1, 2, 5}) {
    simulation_options o = options_of(s);
    o.memory.stages = {{.weight_gradient = 1'000}};
    o.cost.on.collective = {.latency = 4, .bandwidth = 10};
    o.data_ranks = r;
    simulation const run = simulate(lower(s), o);
    tick const ring = r == 1 ? 0 : 2 * (r - 1) * 4 + 2 * (r - 1) * 100 / r;
    CHECK(run.makespan() == 12 + ring);
    CHECK(run.usage[0].exposed == ring);
  }
  // Two replicas of each of two stages: both rings have two ranks, and run at the same time on two
  // devices' collective lanes only one after the other.
  schedule const both = two_ways(2) | repeat(micro_batches{2}) | squeeze();
  simulation_options o = options_of(both);
  o.cost.on.collective.latency = 10;
  timeline const free = time_program(lower(both), options_of(both));
  CHECK(free.makespan == makespan(both));
  timeline const line = time_program(lower(both), o);
  program const p = lower(both);
  for (std::size_t i = 0; i < p.instructions.size(); ++i)
    if (p.instructions[i].code == opcode::all_reduce)
      CHECK(line.timed[i].end - line.timed[i].start == 2 * (2 - 1) * 10);
  CHECK(line.makespan > free.makespan);
}

TEST_CASE("links between nodes have a class of their own") {
  schedule const s = one_f_one_b(4, 1);
  simulation_options o = options_of(s);
  o.cost.on.links.inside.latency = 1;
  o.cost.on.links.between.latency = 100;
  o.cost.on.links.node_size = 2;
  CHECK(simulate(lower(s), o).makespan() == 12 + 2 * (1 + 100 + 1));
  o.cost.on.links.node_size = 1;
  CHECK(simulate(lower(s), o).makespan() == 12 + 2 * 300);
  o.cost.on.links.node_size = 0;
  CHECK(simulate(lower(s), o).makespan() == 12 + 2 * 3);
}

TEST_CASE("the norm is summed over all devices, of sharded gradients on all ranks") {
  schedule const s = one_f_one_b(3, 2);
  simulation_options o = options_of(s);
  o.cost.on.collective.latency = 10;
  for (sharding_level level : {sharding_level::none, sharding_level::full}) {
    program const p = lower(s, {.data_ranks = 2, .sharding = level, .step = optimizer_step::after_norm});
    timeline const line = time_program(p, o);
    int const members = level == sharding_level::none ? 3 : 3 * 2;
    int count = 0;
    for (std::size_t i = 0; i < p.instructions.size(); ++i) {
      if (p.instructions[i].subject != slot_kind::scalar) continue;
      if (p.instructions[i].code != opcode::all_reduce) continue;
      ++count;
      CHECK(line.timed[i].end - line.timed[i].start == 2 * (members - 1) * 10);
    }
    CHECK(count == 3);
  }
}

// Each of two ranks hands on one half: 4 ticks of latency and 10 bytes a tick.
TEST_CASE("what is gathered has the bytes of weights, what is scattered those of gradients") {
  program const p = lower(one_f_one_b(2, 2), {.data_ranks = 2, .sharding = sharding_level::full});
  simulation_options o{.cost = {}, .memory = {.stages = {{.weights = 500, .weight_gradient = 1000}}}};
  o.cost.on.collective = {.latency = 4, .bandwidth = 10};
  shared_durations const takes(p, o);
  int gathers = 0, scatters = 0;
  for (instruction const& i : p.instructions) {
    if (i.code == opcode::all_gather) CHECK((takes.of(i) == 4 + 25 && ++gathers > 0));
    if (i.code == opcode::reduce_scatter) CHECK((takes.of(i) == 4 + 50 && ++scatters > 0));
  }
  CHECK((gathers > 0 && scatters > 0));
}

TEST_CASE("what ranks share is optimized in shards, what stages have in common whole") {
  program const p = lower(one_f_one_b(2, 2), {.data_ranks = 2,
                                              .sharding = sharding_level::full,
                                              .step = optimizer_step::at_end,
                                              .shared_parameters = {{0, 1}}});
  simulation_options o{.cost = {}};
  o.optimizer = 10;
  shared_durations const takes(p, o);
  int shards = 0, whole = 0;
  for (instruction const& i : p.instructions) {
    if (i.code != opcode::optimize) continue;
    CHECK(takes.of(i) == (i.group < 2 ? 5 : 10));
    ++(i.group < 2 ? shards : whole);
  }
  CHECK(shards == 2);
  CHECK(whole == 2);
}

}  // namespace
