// A schedule in the times of its program, whose transfers share lanes.
#pragma once

#include <ashlar/program/program.hpp>
#include <ashlar/schedule/schedule.hpp>

namespace ashlar::cost {

// The same passes in the same orders; each starts when it does in the simulated program of the schedule,
// with rendezvous, on these lanes, as `ashlar simulate` runs it. Linear. Throws violation where the
// program gets stuck.
schedule on_lanes(schedule s, transfer_lanes lanes);

}  // namespace ashlar::cost
