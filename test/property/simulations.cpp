// Simulated programs of random schedules.
#include "random.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/program/hazards.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

using namespace random_case;

namespace {

struct run_case {
  schedule s;
  program p;
};

run_case random_case_of(dice& d, block const& b, bool free_transfers = false) {
  schedule s = repeat(b, random_count(d, b, 3));
  if (free_transfers) s.cost.on.links = {};
  s = squeeze(s);
  lower_options o;
  o.lanes = static_cast<transfer_lanes>(d.between(0, 2));
  program p = lower(s, o);
  return {s, p};
}

simulation_options random_links(dice& d, schedule const& s) {
  simulation_options o;
  o.cost = s.cost;
  o.cost.on.speeds.clear();
  if (d.percent(50))
    for (int device = 0; device < s.device_count(); ++device)
      o.cost.on.speeds.push_back(10 * d.between(4, 20));
  auto const speed = [&] { return link_speed{d.between(0, 5), d.between(0, 3)}; };
  o.cost.on.links.inside = speed();
  o.cost.on.links.between = speed();
  o.cost.on.collective = speed();
  o.cost.on.links.node_size = d.between(0, 3);
  o.data_ranks = d.between(1, 4);
  int const stash = d.between(0, 9);
  o.memory.stages = {{.weights = d.between(0, 9),
                      .weight_gradient = d.between(0, 9),
                      .activation = d.between(0, 9),
                      .gradient = d.between(0, 9),
                      .checkpoint = d.between(0, stash),
                      .stash = stash,
                      .stash_left = d.between(0, stash),
                      .weight_stash = d.between(0, 9)}};
  o.latency_holds_lane = d.percent(50);
  return o;
}

bool agrees_with_squeeze(run_case const& c, timeline const& line) {
  if (line.makespan != makespan(c.s)) return false;
  for (int device = 0; device < c.s.device_count(); ++device) {
    auto const d = static_cast<std::size_t>(device);
    auto next = c.s.order[d].begin();
    for (int i = c.p.stream_begin[d]; i < c.p.stream_begin[d + 1]; ++i) {
      auto const at = static_cast<std::size_t>(i);
      if (c.p.instructions[at].code != opcode::compute) continue;
      if (line.timed[at].start != next->start || line.timed[at].end != c.s.end_of(*next, device))
        return false;
      ++next;
    }
    if (next != c.s.order[d].end()) return false;
  }
  return true;
}

TEST_CASE("with free transfers every pass starts when it does in the squeezed schedule") {
  FOR_SEEDS(300) {
    block const b = random_block(d);
    CAPTURE(seed);
    INFO(words(b));
    run_case const c = random_case_of(d, b, true);
    for (transfer_mode mode : {transfer_mode::rendezvous, transfer_mode::buffered})
      for (bool holds : {false, true}) {
        simulation_options o;
        o.cost = c.s.cost;
        o.mode = mode;
        o.latency_holds_lane = holds;
        CHECK(agrees_with_squeeze(c, time_program(c.p, o)));
      }
  }
}

TEST_CASE("and with a latency that holds no lane") {
  FOR_SEEDS(300) {
    block const b = random_block(d);
    CAPTURE(seed);
    INFO(words(b));
    run_case const c = random_case_of(d, b);
    for (transfer_mode mode : {transfer_mode::rendezvous, transfer_mode::buffered}) {
      simulation_options o;
      o.cost = c.s.cost;
      o.latency_holds_lane = false;
      o.mode = mode;
      CHECK(agrees_with_squeeze(c, time_program(c.p, o)));
      // A lane that is held can only delay.
      o.latency_holds_lane = true;
      CHECK(time_program(c.p, o).makespan >= makespan(c.s));
    }
  }
}

TEST_CASE("no simulation is below its bound, whatever the links") {
  int bounded = 0;
  FOR_SEEDS(300) {
    run_case const c = random_case_of(d, random_block(d));
    CAPTURE(seed);
    for (transfer_mode mode : {transfer_mode::rendezvous, transfer_mode::buffered}) {
      simulation_options o = random_links(d, c.s);
      o.mode = mode;
      auto const least = program_bound(c.s, c.p, o);
      if (!least) continue;
      ++bounded;
      CHECK(time_program(c.p, o).makespan >= least->makespan);
    }
  }
  CHECK(bounded > 50);
}

// Takes the instructions in the order of their starts and lets the machine of the proofs do each when it
// comes up: both halves of a transfer, all replicas of a reduction, together.
bool is_admissible(program const& p, timeline const& line) {
  program_view const v = p.view();
  std::vector<wait_table> waiting;
  std::vector<int> device;
  for (int d = 0; d < p.device_count(); ++d) {
    waiting.push_back(waits(v, d));
    device.insert(device.end(), v.stream(d).size(), d);
  }
  auto const n = p.instructions.size();
  auto const lane_of = [&](std::size_t i) {
    return static_cast<std::size_t>(device[i] * v.lane_count + p.instructions[i].lane);
  };
  std::vector<std::vector<std::size_t>> lanes(static_cast<std::size_t>(p.device_count() * v.lane_count));
  for (std::size_t i = 0; i < n; ++i) lanes[lane_of(i)].push_back(i);
  std::vector<std::size_t> up(lanes.size(), 0);
  std::vector<bool> done(n, false);
  auto const is_up = [&](std::size_t i) {
    auto const& lane = lanes[lane_of(i)];
    auto const begin = p.stream_begin[static_cast<std::size_t>(device[i])];
    if (up[lane_of(i)] >= lane.size() || lane[up[lane_of(i)]] != i) return false;
    for (int w : waiting[static_cast<std::size_t>(device[i])].of(static_cast<int>(i) - begin)) {
      auto const other = static_cast<std::size_t>(begin + w);
      if (!done[other] || line.timed[other].end > line.timed[i].start) return false;
    }
    return true;
  };
  auto const meets = [&](std::size_t i, std::size_t j) {
    instruction const &a = p.instructions[i], &b = p.instructions[j];
    if (a.code == opcode::compute || a.code == opcode::clear) return i == j;
    if (a.code == opcode::all_reduce) return b.code == opcode::all_reduce && a.group == b.group;
    return (b.code == opcode::send || b.code == opcode::receive) && a.what == b.what && a.to == b.to
           && (i == j || (a.code != b.code && a.peer == device[j] && b.peer == device[i]));
  };

  // Instructions with equal starts begin with those that take no time, in an order that the machine
  // finds.
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return line.timed[a].start < line.timed[b].start;
  });
  for (std::size_t first = 0; first < n;) {
    tick const now = line.timed[order[first]].start;
    std::size_t last = first;
    while (last < n && line.timed[order[last]].start == now) ++last;
    bool moved = true;
    std::size_t left = last - first;
    while (moved && left > 0) {
      moved = false;
      for (std::size_t a = first; a < last; ++a) {
        if (done[order[a]] || !is_up(order[a])) continue;
        std::vector<std::size_t> group;
        bool all = true;
        for (std::size_t j = 0; j < n; ++j)
          if (meets(order[a], j)) {
            group.push_back(j);
            all = all && is_up(j) && line.timed[j].start == now;
          }
        if (!all) continue;
        for (std::size_t j : group) {
          done[j] = true;
          ++up[lane_of(j)];
          --left;
        }
        moved = true;
      }
    }
    if (left > 0) return false;
    first = last;
  }
  return true;
}

TEST_CASE("the starts are an execution of the machine of the proofs") {
  FOR_SEEDS(120) {
    block const b = random_block(d);
    CAPTURE(seed);
    INFO(words(b));
    run_case const c = random_case_of(d, b);
    timeline line = time_program(c.p, random_links(d, c.s));
    CHECK(is_admissible(c.p, line));
    // The replay notices an instruction that starts before what it waits for.
    std::size_t latest = 0;
    for (std::size_t i = 0; i < line.timed.size(); ++i)
      if (line.timed[i].cause >= 0 && line.timed[i].start > line.timed[latest].start) latest = i;
    if (line.timed[latest].start == 0) continue;
    line.timed[latest].start = -1;
    CHECK(!is_admissible(c.p, line));
  }
}

TEST_CASE("every tick is counted once, and every path leads from the start to the end") {
  FOR_SEEDS(300) {
    block const b = random_block(d);
    CAPTURE(seed);
    INFO(words(b));
    run_case const c = random_case_of(d, b);
    simulation_options o = random_links(d, c.s);
    if (d.percent(50)) o.mode = transfer_mode::buffered;
    if (d.percent(50)) o.issue = issue_mode::in_stream;
    simulation const run = simulate(c.p, o);
    schedule elsewhere = c.s;
    elsewhere.cost = schedule_costs(o);
    std::vector<tick> const work = busy(elsewhere);
    for (std::size_t device = 0; device < work.size(); ++device) {
      device_usage const& u = run.usage[device];
      CHECK(u.busy == work[device]);
      CHECK(u.busy + u.idle() == run.makespan());
      CHECK(std::min({u.warm_up, u.steady, u.cool_down, u.exposed}) >= 0);
      device_memory const& m = run.memory[device];
      CHECK(m.resident <= m.peak);
      CHECK(m.peak <= m.reserved);
      CHECK(m.samples.back().bytes == m.resident);
    }
    REQUIRE(!run.critical.empty());
    CHECK(run.critical.front().from == 0);
    CHECK(run.critical.back().until == run.makespan());
    for (std::size_t i = 0; i + 1 < run.critical.size(); ++i)
      CHECK(run.critical[i].until == run.critical[i + 1].from);
    // Free transfers and reductions expose nothing.
    run_case const free = random_case_of(d, b, true);
    simulation_options none;
    none.cost = free.s.cost;
    for (device_usage const& u : simulate(free.p, none).usage) CHECK(u.exposed == 0);
  }
}

TEST_CASE("what takes longer ends no earlier") {
  FOR_SEEDS(200) {
    block const b = random_block(d);
    CAPTURE(seed);
    INFO(words(b));
    run_case const c = random_case_of(d, b);
    simulation_options o = random_links(d, c.s);
    timeline const before = time_program(c.p, o);
    o.cost.on.links.inside.latency += d.between(0, 3);
    o.cost.on.collective.latency += d.between(0, 3);
    o.latency_holds_lane = true;
    o.cost.passes.at(0).forward += d.between(0, 3);
    timeline const after = time_program(c.p, o);
    for (std::size_t i = 0; i < before.timed.size(); ++i) {
      CHECK(after.timed[i].start >= before.timed[i].start);
      CHECK(after.timed[i].end >= before.timed[i].end);
    }
  }
}

TEST_CASE("programs in the order of listing are proved too") {
  FOR_SEEDS(250) {
    block const b = random_block(d);
    CAPTURE(seed);
    INFO(words(b));
    schedule const s = squeeze(repeat(b, random_count(d, b, 3)));
    lower_options o;
    o.transfers = transfer_order::asap;
    o.slots = d.percent(50) ? slot_reuse::when_free : slot_reuse::never;
    o.lanes = static_cast<transfer_lanes>(d.between(0, 2));
    program const p = lower(s, o);
    CHECK(check(p).ok());
    simulation_options in_stream;
    in_stream.cost = s.cost;
    in_stream.issue = issue_mode::in_stream;
    schedule without = s;
    without.cost.on.links = {};
    CHECK(time_program(p, in_stream).makespan >= makespan(squeeze(without)));
  }
}

}  // namespace
