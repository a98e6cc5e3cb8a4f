// A schedule in the times of its program, whose transfers share lanes.
#pragma once

#include <ashlar/program/program.hpp>
#include <ashlar/schedule/schedule.hpp>

namespace ashlar::cost {

// Keeps the orders of passes, and starts each when it starts in the schedule's program, simulated with
// rendezvous on these lanes, as `ashlar simulate` runs it. Linear. Throws violation where the program
// gets stuck.
schedule on_lanes(schedule s, transfer_lanes lanes);

}  // namespace ashlar::cost
