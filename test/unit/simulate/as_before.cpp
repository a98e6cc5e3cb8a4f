// Simulations of random programs, with options of every kind, are those of before. Other tests say what
// is right; these notice what changes.
#include "random.hpp"
#include "random_cases.hpp"
#include "random_programs.hpp"
#include "recorded_rows.hpp"
#include <ashlar/core/part_costs.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/simulate/part_timeline.hpp>
#include <ashlar/simulate/simulate.hpp>
#include <ashlar/simulate/slack.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace simulate_as_before {

namespace {

using namespace random_case;

stage_memory memory_to_simulate(dice& d) {
  int const stash = d.between(0, 9);
  return {.weights = d.between(0, 9),
          .optimizer_state = d.between(0, 9),
          .weight_gradient = d.between(0, 9),
          .activation = d.between(0, 9),
          .gradient = d.between(0, 9),
          .checkpoint = d.between(0, stash),
          .stash = stash,
          .stash_left = d.between(0, stash),
          .weight_stash = d.between(0, 9)};
}

simulation_options machine_to_simulate(dice& d, schedule const& s) {
  simulation_options o;
  o.cost = s.cost;
  if (d.percent(50)) {
    o.cost.on.speeds.clear();
    for (int device = 0; device < s.device_count(); ++device)
      o.cost.on.speeds.push_back(10 * d.between(4, 20));
  }
  auto const speed = [&d] {
    link_speed made;
    made.latency = d.between(0, 5);
    made.bandwidth = d.between(0, 3);
    return made;
  };
  o.cost.on.links.inside = speed();
  o.cost.on.links.between = speed();
  o.cost.on.links.node_size = d.between(0, 3);
  o.cost.on.collective = speed();
  o.cost.on.host.speed = speed();
  o.cost.on.host.shared_by = d.between(1, 2);
  o.data_ranks = d.between(1, 4);
  o.optimizer = d.between(0, 9);
  o.memory.stages.assign(1, {});
  if (d.percent(50)) o.memory.stages.assign(static_cast<std::size_t>(s.stage_count()), {});
  for (stage_memory& each : o.memory.stages) each = memory_to_simulate(d);
  o.mode = static_cast<transfer_mode>(d.between(0, 1));
  o.latency_holds_lane = d.percent(50);
  o.issue = static_cast<issue_mode>(d.percent(30) ? 1 : 0);
  o.shards = static_cast<shard_home>(d.percent(30) ? 1 : 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(s.work.job_count()); ++i)
    o.work_bytes.push_back({.output = d.between(0, 9), .state = d.between(0, 9)});
  return o;
}

lower_options lowering_to_simulate(dice& d, schedule const& s) {
  lower_options o;
  o.lanes = static_cast<transfer_lanes>(d.between(0, 3));
  o.step = static_cast<optimizer_step>(d.between(0, 2));
  o.receives = static_cast<receive_time>(d.between(0, 1));
  if (d.percent(50)) {
    o.data_ranks = d.between(1, 3);
    o.sharding = static_cast<sharding_level>(d.between(0, 4));
    o.weight_buffers = d.between(1, 3);
  }
  if (d.percent(30)) o.offload = random_offload(d, s);
  return o;
}

recorded_rows::row numbers_of_simulation(simulation const& s) {
  recorded_rows::row made;
  recorded_rows::tag times, path, memory;
  for (timed_instruction const& t : s.line.timed) times.add(t.start, t.end, t.made, t.cause);
  for (path_step const& step : s.critical) path.add(step.index, step.from, step.until);
  for (device_memory const& m : s.memory) {
    memory.add(m.resident, m.reserved, m.peak, m.peak_time, m.witness, m.host_reserved, m.host_peak);
    for (memory_sample const& each : m.samples) memory.add(each.time, each.bytes);
  }
  recorded_rows::put(made, s.makespan(), times.sum(), path.sum(), memory.sum());
  for (device_usage const& u : s.usage)
    recorded_rows::put(made, u.busy, u.warm_up, u.steady, u.cool_down, u.exposed);
  return made;
}

TEST_CASE("as before: simulations of random programs") {
  recorded_rows::table rows;
  FOR_SEEDS(random_cases(400)) {
    schedule const s = random_schedule_to_lower(d, 20);
    lower_options const lowered = lowering_to_simulate(d, s);
    simulation_options const o = machine_to_simulate(d, s);
    try {
      program const p = lower(s, lowered);
      recorded_rows::row made = numbers_of_simulation(simulate(p, o));
      std::optional<bound> const least = program_bound(s, p, o);
      recorded_rows::put(made, least ? least->makespan : -1, least ? least->span : -1);
      if (p.instructions.size() < 60) {
        recorded_rows::tag slack;
        for (link_slack const& link : link_slacks(p, o))
          slack.add(link.from, link.to, link.transfers, link.slack);
        recorded_rows::put(made, slack.sum());
      }
      rows.push_back(made);
    } catch (violation const& e) {
      rows.push_back({-1 - static_cast<double>(e.why.broken)});
    }
  }
  recorded_rows::must_be_as_before("simulate/programs_as_before.txt", rows);
}

}  // namespace

}  // namespace simulate_as_before
