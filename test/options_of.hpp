// Options for a simulation as the schedule was timed.
#pragma once

#include <ashlar/schedule/schedule.hpp>
#include <ashlar/simulate/options.hpp>

namespace shapes {

using namespace ashlar;

inline simulation_options options_of(schedule const& s) { return {.cost = s.cost}; }

}  // namespace shapes
