// What no order of a program's passes could undercut on the same machine.
#pragma once

#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/simulate/durations.hpp>

#include <optional>
#include <utility>

namespace ashlar {

// Ticks of the program's fastest transfer; 0 if it has none. Linear.
constexpr tick fastest_transfer(program const& p, simulation_options const& o) {
  program_view const view = p.view();
  bool found = false;
  tick least = 0;
  for (int d = 0; d < view.device_count; ++d)
    for (instruction const& i : view.stream(d)) {
      if (i.code != opcode::send) continue;
      tick const t = time_of_transfer(o, i, d).all;
      if (!found || t < least) least = t;
      found = true;
    }
  return least;
}

// The bound for all schedules of the passes of `s`, whose program is `p`, on the machine of `o`: passes
// take what they take there, a device holds what it holds in `s`, and all transfers are as fast as the
// fastest. So no simulation is below, whether links differ, make messages wait, or are faster than
// s.cost.transfer. Reductions and optimizer steps do not count. None for schedules that have no workload
// or whose times are too long to be summed up.
constexpr std::optional<bound> program_bound(schedule s, program const& p, simulation_options const& o) {
  s.cost = o.cost;
  s.cost.transfer = fastest_transfer(p, o);
  if (!has_workload(s) || !check(s.cost, s.stage_count(), s.micro_batch_count()).ok())
    return std::nullopt;
  return workload_bound(workload_of(s));
}

}  // namespace ashlar
