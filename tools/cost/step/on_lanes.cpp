#include <ashlar/cost/step/on_lanes.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <cstddef>

namespace ashlar::cost {

schedule on_lanes(schedule s, transfer_lanes lanes) {
  program const p = lower(s, {.lanes = lanes});
  simulation_options o;
  o.cost = s.cost;
  timeline const line = time_program(p, o);
  for (int d = 0; d < p.device_count(); ++d) {
    auto slot = s.order[static_cast<std::size_t>(d)].begin();
    bool is_second = false;  // of a pair, whose passes start together
    for (int i = stream_begin(p, d); i < stream_end(p, d); ++i) {
      instruction const& each = p.instructions[static_cast<std::size_t>(i)];
      if (each.code != opcode::compute) continue;
      if (!is_second) (slot++)->start = line.timed[static_cast<std::size_t>(i)].start;
      is_second = each.overlaps_next;
    }
  }
  return s;
}

}  // namespace ashlar::cost
