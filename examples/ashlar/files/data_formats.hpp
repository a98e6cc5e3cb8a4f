// Schedules as other programs read them.
#pragma once

#include "options/durations.hpp"
#include <ashlar/interop/csv_actions.hpp>
#include <ashlar/lower/options.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <string>

namespace tool {

// `format`: pytorch, json, trace, frameworks, or pytorch-comms, which alone is of the lowered program.
// Throws usage_error where PyTorch has no words for it; what it merely cannot run is said on standard
// error.
std::string data_of(ashlar::schedule const& s, std::string const& name, std::string const& format,
                    ashlar::csv_dialect dialect, time_scale const& scale,
                    ashlar::lower_options const& lowering = {});

// How long a tick is in a trace. Throws usage_error for times too long to be counted so.
double tick_ns_of_trace(time_scale const& scale, ashlar::tick longest);

}  // namespace tool
