// A lower bound for all orders of a program's passes on the same machine.
#pragma once

#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/tables.hpp>
#include <ashlar/simulate/durations.hpp>
#include <ashlar/simulate/transfer_pairs.hpp>

#include <optional>
#include <utility>

namespace ashlar {

// Bytes of the program's smallest message; 0 if it has none. Linear.
constexpr byte_count smallest_message(program const& p, simulation_options const& o) {
  program_view const view = p.view();
  bool found = false;
  byte_count least = 0;
  for (int d = 0; d < view.device_count; ++d)
    for (instruction const& i : view.stream(d)) {
      if (i.code != opcode::send) continue;
      byte_count const size = message_size(o, i, p.graph);
      least = found ? min_of(least, size) : size;
      found = true;
    }
  return least;
}

// The bound for all schedules of the passes of `s`, whose program is `p`, on the machine of `o`. Passes
// take the time that they take there, a device holds what it holds in `s`, and every message is as short
// as the shortest. So no simulation is below the bound, whether messages differ or links make them wait.
// Reductions and optimizer steps do not count. There is no bound for schedules without a workload, or
// with times too long to be added up. Throws violation: check_form(s), check_can_be_timed(p, o).
constexpr std::optional<bound> program_bound(schedule s, program const& p, simulation_options const& o) {
  must_have_form(s);
  if (!check(o.cost, s.stage_count(), s.device_count(), s.micro_batch_count(), s.graph.sequence_chunks())
           .ok())
    return std::nullopt;
  if (diagnosis const d = check_can_be_timed(p, o); !d.ok()) refuse(d);
  s.cost = {o.cost.passes, o.cost.on, smallest_message(p, o)};
  if (!has_workload(s)
      || !check(s.cost, s.stage_count(), s.device_count(), s.micro_batch_count(),
                s.graph.sequence_chunks())
              .ok())
    return std::nullopt;
  return workload_bound(workload_of(s));
}

}  // namespace ashlar
