#include <ashlar/simulate/simulate.hpp>
// First, so that it needs nothing before it.
#include "mutate.hpp"
#include "shapes.hpp"
#include "static_check.hpp"
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace shapes;
using namespace mutate;

namespace {

simulation_options options_of(schedule const& s) { return {.cost = s.cost}; }

// One message each way between two devices, 3 ticks of latency and 100 bytes at 10 bytes a tick.
constexpr bool test_transfer() {
  schedule const s = one_f_one_b(2, 1);
  simulation_options o{.cost = s.cost, .memory = {.stages = {{.activation = 100, .gradient = 101}}}};
  o.cost.links.inside = {.latency = 3, .bandwidth = 10};
  program const p = lower(s);
  simulation const run = simulate(p, o);
  // F 1, transfer 13, F 1, B 2, transfer 3 + 11, B 2.
  HOLDS(run.makespan() == 1 + 13 + 1 + 2 + 14 + 2);
  HOLDS(run.usage[0] == device_usage{.busy = 3, .warm_up = 16, .exposed = 14});
  HOLDS(run.usage[1] == device_usage{.busy = 3, .warm_up = 1, .cool_down = 16, .exposed = 13});
  HOLDS(simulate(p, {.cost = s.cost}).makespan() == 6);
  return true;
}
BOTH_TIMES("a transfer takes its latency and a tick for every bandwidth bytes begun", test_transfer)

constexpr bool test_ring() {
  link_speed const l{.latency = 7, .bandwidth = 3};
  HOLDS(ring_time(l, 1'000, 1) == 0);
  HOLDS(ring_time(l, 1'000, 2) == 2 * 7 + 334);                   // 2 * 1/2 * 1000 / 3
  HOLDS(ring_time(l, 1'200, 4) == 6 * 7 + 600);                   // 2 * 3/4 * 1200 / 3
  HOLDS(ring_time({.latency = 5, .bandwidth = 0}, 99, 8) == 70);  // 2 * 7 * 5
  HOLDS(ring_time({.latency = max_tick, .bandwidth = 1}, 1, 3) == max_tick);
  HOLDS(l.byte_time(0) == 0 && l.byte_time(3) == 1 && l.byte_time(4) == 2);
  return true;
}
BOTH_TIMES("a ring takes 2 (n - 1) latencies and 2 (n - 1) / n of the bytes", test_ring)

TEST_CASE("gradients are reduced over data-parallel ranks and replicas") {
  schedule const s = one_f_one_b(1, 4);
  for (int r : {1, 2, 5}) {
    simulation_options o = options_of(s);
    o.memory.stages = {{.weight_gradient = 1'000}};
    o.collective = {.latency = 4, .bandwidth = 10};
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
  o.collective.latency = 10;
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
  o.cost.links.inside.latency = 1;
  o.cost.links.between.latency = 100;
  o.cost.links.node_size = 2;
  CHECK(simulate(lower(s), o).makespan() == 12 + 2 * (1 + 100 + 1));
  o.cost.links.node_size = 1;
  CHECK(simulate(lower(s), o).makespan() == 12 + 2 * 300);
  o.cost.links.node_size = 0;
  CHECK(simulate(lower(s), o).makespan() == 12 + 2 * 3);
}

TEST_CASE("the idle time of 1F1B and GPipe is where it is known to be") {
  for (int p : {2, 4, 7})
    for (char const* name : {"1f1b", "gpipe"}) {
      schedule const s = catalog::find(name)->make({devices{p}, micro_batches{2 * p}});
      simulation const run = simulate(lower(s), options_of(s));
      CAPTURE(p);
      for (int d = 0; d < p; ++d) {
        device_usage const& u = run.usage[static_cast<std::size_t>(d)];
        CHECK(u.busy == 3 * 2 * p);
        CHECK(u.exposed == 0);
        CHECK(u.idle() == 3 * (p - 1));
        // Before the first forward d; before the first backward what the others still do.
        CHECK(u.warm_up >= d);
      }
      device_usage const& last = run.usage.back();
      CHECK(last == device_usage{.busy = 6 * p, .warm_up = p - 1, .cool_down = 2 * (p - 1)});
    }
}

TEST_CASE("every instruction of the critical path lets the next one start") {
  for (auto const& e : catalog::entries)
    for (tick latency : {0, 1, 5}) {
      schedule const s = e.make({devices{4}, micro_batches{8}, costs(stage_cost{3, 2, 4}, latency)});
      program const p = lower(s);
      simulation const run = simulate(p, options_of(s));
      REQUIRE(!run.critical.empty());
      CHECK(run.critical.front().from == 0);
      CHECK(run.critical.back().until == run.makespan());
      for (path_step const& step : run.critical) CHECK(step.from < step.until);
      for (std::size_t i = 0; i + 1 < run.critical.size(); ++i) {
        CHECK(run.critical[i].until == run.critical[i + 1].from);
        CHECK(run.line.timed[static_cast<std::size_t>(run.critical[i].index)].end
              == run.critical[i].until);
      }
    }
}

// Shortening what is not on the critical path changes nothing, shortening what is on it may.
TEST_CASE("a stage that is not on the critical path may be slower for nothing") {
  costs c(std::vector<stage_cost>{{1, 1, 1}, {10, 10, 10}, {1, 1, 1}});
  schedule const s = catalog::find("1f1b")->make({devices{3}, micro_batches{6}, c});
  simulation const run = simulate(lower(s), options_of(s));
  program const p = lower(s);
  tick in_the_middle = 0;
  for (path_step const& step : run.critical)
    if (p.instructions[static_cast<std::size_t>(step.index)].what.stage == 1)
      in_the_middle += step.until - step.from;
  CHECK(in_the_middle == 6 * 30);  // the slow stage never rests
  CHECK(run.makespan() == 1 + 6 * 30 + 2);
}

TEST_CASE("memory: as many bytes as activations, gradients and slots") {
  for (auto const& e : catalog::entries) {
    CAPTURE(std::string(e.name));
    if (e.name == std::string_view("1f1b-recompute")) continue;  // keeps checkpoints for stashes
    schedule const s = e.make({devices{4}, micro_batches{8}});
    if (s.mode == execution_mode::inference) continue;  // keeps nothing
    program const p = lower(s);
    simulation_options o = options_of(s);
    o.memory.stages = {{.stash = 1}};
    std::vector<int> const peak = peak_activations(s);
    simulation const stashes = simulate(p, o);
    for (std::size_t d = 0; d < peak.size(); ++d) CHECK(stashes.memory[d].peak == peak[d]);

    for (slot_kind kind :
         {slot_kind::activation, slot_kind::gradient, slot_kind::stash, slot_kind::weight_stash}) {
      stage_memory b{.checkpoint = 0};
      (kind == slot_kind::activation ? b.activation
       : kind == slot_kind::gradient ? b.gradient
       : kind == slot_kind::stash    ? b.stash
                                     : b.weight_stash) = 1;
      o.memory.stages = {b};
      simulation const run = simulate(p, o);
      for (int d = 0; d < s.device_count(); ++d) {
        device_memory const& m = run.memory[static_cast<std::size_t>(d)];
        CHECK(m.reserved == count_slots(p.view(), d, kind));
        // All slots of what a device keeps are needed at once, unless an overlapped pair lets go of
        // several together. A message that takes no time may be gone in the tick in which its slot is
        // taken.
        bool const kept = kind == slot_kind::stash || kind == slot_kind::weight_stash;
        if (kept && !std::string_view(e.name).starts_with("dualpipe"))
          CHECK(m.peak == m.reserved);
        else
          CHECK(m.peak <= m.reserved);
        if (m.peak > 0) CHECK(run.line.timed[static_cast<std::size_t>(m.witness)].start == m.peak_time);
      }
    }
  }
}

TEST_CASE("memory: what is resident, the samples, and the way back to it") {
  schedule const s = catalog::find("v-half")->make({devices{2}, micro_batches{4}});
  simulation_options o = options_of(s);
  o.memory.stages = {{.weights = 1'000, .optimizer_state = 2'000, .weight_gradient = 500, .stash = 7}};
  simulation const run = simulate(lower(s), o);
  for (device_memory const& m : run.memory) {
    CHECK(m.resident == 2 * 3'500);
    CHECK(m.samples.front().time == 0);
    CHECK(m.samples.back().bytes == m.resident);
    CHECK(m.samples.back().time <= run.makespan());
    byte_count most = 0;
    for (std::size_t i = 0; i < m.samples.size(); ++i) {
      most = std::max(most, m.samples[i].bytes);
      if (i > 0) CHECK(m.samples[i - 1].time < m.samples[i].time);
    }
    CHECK(most == m.peak);
  }
}

TEST_CASE("a program that gets stuck is refused, not waited for") {
  program p = one_f_one_b(2, 2) | lower();
  int const send = find(p, 1, opcode::send, {B, 1, 0});
  move(p, 1, find(p, 1, opcode::receive, {F, 0, 1}), send);
  for (transfer_mode mode : {transfer_mode::rendezvous, transfer_mode::buffered}) {
    simulation_options o;
    o.mode = mode;
    if (mode == transfer_mode::rendezvous) {
      CHECK_BREAKS(no_cycle_of_waits, simulate(p, o));
    } else {
      CHECK(simulate(p, o).makespan() == 9);  // nobody waits to be received
    }
  }
  try {
    simulate(p, {});
  } catch (violation const& v) {
    CHECK(v.why.first.device >= 0);
    CHECK(v.why.second.device >= 0);
    CHECK(v.why.first != v.why.second);
  }
}

TEST_CASE("what cannot be simulated is refused") {
  schedule const s = one_f_one_b(2, 2);
  program const good = lower(s);
  simulation_options const o = options_of(s);
  auto const with = [&](auto change) {
    simulation_options changed = o;
    change(changed);
    return [&good, changed] { simulate(good, changed); };
  };
  CHECK_BREAKS(sizes_fit, with([](auto& x) { x.memory.stages[0].stash = -1; })());
  CHECK_BREAKS(sizes_fit, with([](auto& x) { x.memory.stages[0].stash = max_tick; })());
  CHECK_BREAKS(sizes_fit, with([](auto& x) { x.memory.stages[0].stash = max_tick - 1; })());
  CHECK_BREAKS(tables_agree, with([](auto& x) { x.memory.stages.resize(3); })());
  CHECK_BREAKS(counts_are_positive, with([](auto& x) { x.data_ranks = 0; })());
  CHECK_BREAKS(counts_are_positive, with([](auto& x) { x.cost.links.node_size = -1; })());
  CHECK_BREAKS(durations_are_positive, with([](auto& x) { x.cost.links.inside.latency = -1; })());
  CHECK_BREAKS(durations_are_positive, with([](auto& x) { x.collective.bandwidth = -1; })());
  CHECK_BREAKS(ticks_fit, with([](auto& x) { x.cost.links.inside.latency = INT64_MAX; })());
  CHECK_BREAKS(durations_are_positive, with([](auto& x) { x.cost.per_stage[0].forward = 0; })());

  auto const changed = [&](int device, opcode code, pass what, auto change) {
    program p = good;
    change(p.instructions[static_cast<std::size_t>(p.stream_begin[static_cast<std::size_t>(device)]
                                                   + find(p, device, code, what))]);
    return p;
  };
  pass const f{F, 0, 0};
  CHECK_BREAKS(every_pass_is_known,
               simulate(changed(0, opcode::compute, f, [](auto& i) { i.what.stage = 9; }), o));
  CHECK_BREAKS(every_pass_is_known,
               simulate(changed(0, opcode::send, f, [](auto& i) { i.peer = 7; }), o));
  CHECK_BREAKS(every_send_has_its_receive,
               simulate(changed(0, opcode::send, f, [](auto& i) { i.peer = 0; }), o));
  program to_itself = good;  // on lanes of its own even a whole transfer
  instruction half{.code = opcode::send, .lane = 1, .what = f, .to = 1, .peer = 0};
  drop(to_itself, 1, find(to_itself, 1, opcode::receive, f));
  at(to_itself, 0, find(to_itself, 0, opcode::send, f)) = half;
  half.code = opcode::receive;
  half.lane = 2;
  insert(to_itself, 0, 0, half);
  CHECK_BREAKS(transfers_lead_to_another_device, simulate(to_itself, o));
  CHECK_BREAKS(no_transfer_is_doubled,
               simulate(changed(0, opcode::send, f, [](auto& i) { i.what.micro_batch = 1; }), o));
  CHECK_BREAKS(tables_agree, simulate(changed(0, opcode::send, f, [](auto& i) { i.lane = 99; }), o));
}

// Bytes that have left hold the sender's lane; what is under way holds none of the receiver's.
TEST_CASE("a buffered message does not hold the lane that it will arrive on") {
  // Device 1 is to receive 0F1, which begins at 100 and takes 10, before it sends 1F0, which is there at
  // 61.
  costs const c(std::vector<stage_cost>{{50, 1, 1}, {1, 1, 1}, {1, 1, 1}});
  schedule const s = retime(one_f_one_b(3, 2), c);
  program p = lower(s, {.slots = slot_reuse::never});
  int const send = find(p, 1, opcode::send, {F, 1, 0}), receive = find(p, 1, opcode::receive, {F, 0, 1});
  REQUIRE(send < receive);
  move(p, 1, receive, send);
  simulation_options o;
  o.cost = c;
  o.cost.links.inside.latency = 10;
  o.latency_holds_lane = false;
  o.mode = transfer_mode::buffered;
  timeline const line = time_program(p, o);
  auto const time = [&](opcode code, pass what) {
    return line.timed[static_cast<std::size_t>(p.stream_begin[1] + find(p, 1, code, what))];
  };
  CHECK(time(opcode::compute, {F, 1, 0}).end == 61);
  CHECK(time(opcode::receive, {F, 0, 1}).end == 110);
  CHECK(time(opcode::send, {F, 1, 0}).start == 100);
}

// Computes before a transfer in its stream are those that issue it. Reductions are issued apart.
TEST_CASE("issue in the stream's order delays no reduction") {
  schedule const s = catalog::find("v-half")->make({devices{2}, micro_batches{4}});
  program const p = lower(s, {.data_ranks = 2, .reduction = gradient_reduction::at_end});
  simulation_options o = options_of(s);
  o.collective.latency = 10;
  timeline const by_slots = time_program(p, o);
  o.issue = issue_mode::in_stream;
  timeline const in_stream = time_program(p, o);
  bool is_early = false;
  for (std::size_t i = 0; i < p.instructions.size(); ++i) {
    if (p.instructions[i].code != opcode::all_reduce) continue;
    CHECK(in_stream.timed[i].start == by_slots.timed[i].start);
    for (std::size_t j = 0; j < i; ++j)
      is_early = is_early
                 || (p.instructions[j].code == opcode::compute
                     && in_stream.timed[j].end > in_stream.timed[i].start);
  }
  CHECK(is_early);  // else nothing was told apart
}

TEST_CASE("the norm is summed over all devices, of sharded gradients on all ranks") {
  schedule const s = one_f_one_b(3, 2);
  simulation_options o = options_of(s);
  o.collective.latency = 10;
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

TEST_CASE("a program that knows its ranks lies in as many shards, whatever the options say") {
  schedule const s = one_f_one_b(1, 2);
  simulation_options o = options_of(s);
  o.memory.stages = {{.weights = 1'200, .optimizer_state = 2'400}};
  o.data_ranks = 3;
  program const four = lower(s, {.data_ranks = 4, .sharding = sharding_level::full});
  CHECK(simulate(four, o).memory[0].resident == 3'600 / 4);
  program const own = lower(s, {.sharding = sharding_level::full});
  CHECK(simulate(own, o).memory[0].resident == 3'600 / 3);
}

TEST_CASE("of chains that end together the critical path is that of the first instruction") {
  timeline line;
  line.timed = {{.start = 0, .end = 2},
                {.start = 2, .end = 5, .cause = 0},
                {.start = 0, .end = 5},
                {.start = 1, .end = 4}};
  line.makespan = 5;
  CHECK(critical_path(line) == std::vector<path_step>{{0, 0, 2}, {1, 2, 5}});
}

TEST_CASE("the critical path leaves out what takes no time") {
  timeline line;
  line.timed = {{.start = 0, .end = 0},
                {.start = 0, .end = 2, .cause = 0},
                {.start = 2, .end = 2, .cause = 1},
                {.start = 2, .end = 5, .cause = 2},
                {.start = 5, .end = 5, .cause = 3}};
  line.makespan = 5;
  CHECK(critical_path(line) == std::vector<path_step>{{1, 0, 2}, {3, 2, 5}});
}

// Slot by slot as pass by pass.
TEST_CASE("what a program holds is what its schedule's memory model says") {
  stage_memory const each[] = {{.weights = 100, .stash = 10},
                               {.stash = 10, .weight_stash = 4},
                               {.optimizer_state = 3, .stash = 10, .stash_left = 3},
                               {.stash = 10, .stash_left = 0, .weight_stash = 2}};
  for (auto const& e : catalog::entries) {
    CAPTURE(std::string(e.name));
    if (e.name == std::string_view("1f1b-recompute")) continue;  // a checkpoint has a slot of its own
    schedule const s = e.make({devices{4}, micro_batches{8}});
    bool pairs = false;  // of which a slot may be free before the other pass takes it
    for (auto const& order : s.order)
      for (timed_pass const& t : order) pairs = pairs || t.overlaps >= 0;
    if (s.mode == execution_mode::inference || pairs) continue;
    simulation_options o = options_of(s);
    for (stage_memory const& m : each) {
      o.memory.stages = {m};
      simulation const run = simulate(lower(s), o);
      std::vector<byte_count> const peaks = peak_memory(s, o.memory);
      for (std::size_t d = 0; d < peaks.size(); ++d) CHECK(run.memory[d].peak == peaks[d]);
    }
  }
}

}  // namespace
