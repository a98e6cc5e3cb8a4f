#include <ashlar/simulate/usage.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "options_of.hpp"
#include "shapes.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

using namespace shapes;

namespace {

TEST_CASE("the idle time of 1F1B and GPipe is where it is known to be") {
  for (int p : {2, 4, 7})
    for (char const* name : {"1f1b", "gpipe"}) {
      schedule const s = catalog::find(name)->make({devices{p}, micro_batches{2 * p}});
      simulation const run = simulate(lower(s), options_of(s));
      CAPTURE(p);
      for (int d = 0; d < p; ++d) {
        device_usage const& u = run.usage[static_cast<std::size_t>(d)];
        // Device d idles for d before the first forward, and before the first backward for what the
        // devices after it do: 1F1B begins with p - d forwards, GPipe with all. The rest is after the
        // last forward.
        tick const warm = name == std::string_view("1f1b") ? 2 * (p - 1) - d : d + 3 * (p - 1 - d);
        CHECK(u == device_usage{.busy = 6 * p, .warm_up = warm, .cool_down = 3 * (p - 1) - warm});
      }
    }
}

TEST_CASE("inference warms up until a device's first pass") {
  constexpr pass_kind forward = pass_kind::forward;
  schedule s =
      schedule_from_orders(linear(devices{2}), {0, 0}, {},
                           {{{forward, 0, 0}, {forward, 0, 1}}, {{forward, 1, 0}, {forward, 1, 1}}});
  s.mode = execution_mode::inference;
  s = squeeze(s);
  simulation const run = simulate(lower(s), options_of(s));
  CHECK(run.usage[0] == device_usage{.busy = 2, .cool_down = 1});
  CHECK(run.usage[1] == device_usage{.busy = 2, .warm_up = 1});
  // A message that a device sends after its last pass is no pass, and neither is its first message.
  simulation_options o = options_of(s);
  o.cost.on.links.inside.latency = 10;
  simulation const late = simulate(lower(s, {.slots = slot_reuse::never}), o);
  REQUIRE(late.makespan() == 22);
  CHECK(late.usage[0] == device_usage{.busy = 2, .cool_down = 20});
  CHECK(late.usage[1] == device_usage{.busy = 2, .warm_up = 1, .exposed = 19});
}

TEST_CASE("what runs on the lane of collectives after the last pass is exposed") {
  schedule const s = one_f_one_b(2, 2);
  simulation_options o = options_of(s);
  o.cost.on.collective.latency = 10;
  simulation const run = simulate(lower(s, {.data_ranks = 2}), o);
  REQUIRE(run.makespan() == makespan(s) + 2 * 10);
  CHECK((run.usage[0].busy == 6 && run.usage[0].exposed == 20));
  CHECK((run.usage[1].busy == 6 && run.usage[1].exposed == 20));
}

// Idle time comes before the first backward, between it and the last forward, and after that.
TEST_CASE("idle time without messages is counted by the passes around it") {
  for (catalog_case const& c : catalog_cases({3}, {6}, costs(stage_cost{3, 2, 4}))) {
    CAPTURE(c);
    schedule const s = c.schedule();
    program const p = lower(s);
    simulation const run = simulate(p, options_of(s));
    for (int d = 0; d < p.device_count(); ++d) {
      std::vector<timed_instruction> passes;
      tick warm = run.makespan(), cool = 0;
      for (int i = stream_begin(p.view(), d); i < stream_end(p.view(), d); ++i) {
        auto const at = static_cast<std::size_t>(i);
        if (p.instructions[at].code != opcode::compute) continue;
        passes.push_back(run.line.timed[at]);
        pass_kind const kind = p.instructions[at].what.kind;
        if (gives_input_gradient(kind)) warm = std::min(warm, passes.back().start);
        if (kind == pass_kind::forward) cool = std::max(cool, passes.back().end);
      }
      if (s.mode == execution_mode::inference) warm = passes[0].start;
      device_usage expected{.busy = run.usage[static_cast<std::size_t>(d)].busy};
      for (tick now = 0; now < run.makespan(); ++now) {
        bool is_busy = false;
        for (timed_instruction const& t : passes) is_busy = is_busy || (t.start <= now && now < t.end);
        if (!is_busy)
          ++(now < warm ? expected.warm_up : now < cool ? expected.steady : expected.cool_down);
      }
      CHECK(run.usage[static_cast<std::size_t>(d)] == expected);
    }
  }
}

// With latencies, uneven passes and reductions that hold lanes, every kind of idle time is there.
TEST_CASE("busy and idle times of a device add up to the makespan, which is the last end") {
  device_usage sum;
  for (catalog_case const& c : catalog_cases({3}, {6}, costs(stage_cost{3, 2, 4}, 1))) {
    CAPTURE(c);
    schedule const s = c.schedule();
    simulation_options o = options_of(s);
    o.cost.on.collective.latency = 5;
    o.data_ranks = 2;
    simulation const run = simulate(lower(s), o);
    tick last = 0;
    for (timed_instruction const& t : run.line.timed) last = t.end > last ? t.end : last;
    CHECK(run.makespan() == last);
    std::vector<tick> const computes = busy(s);
    for (std::size_t d = 0; d < run.usage.size(); ++d) {
      device_usage const& u = run.usage[d];
      CHECK((u.busy == computes[d] && u.busy + u.idle() == run.makespan()));
      for (tick const part : {u.warm_up, u.steady, u.cool_down, u.exposed}) CHECK(part >= 0);
      CHECK(u.warm_up + u.steady + u.cool_down + u.exposed == u.idle());
      sum.steady += u.steady;
      sum.exposed += u.exposed;
    }
  }
  CHECK((sum.steady > 0 && sum.exposed > 0));
}

}  // namespace
