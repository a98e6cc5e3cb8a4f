// Schedules as other programs read them.
#pragma once

#include "options/durations.hpp"
#include <ashlar/interop/csv_actions.hpp>
#include <ashlar/lower/options.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <string>

namespace tool {

// `format`: pytorch, json, trace, frameworks, or pytorch-comms, the only one of the lowered program.
// Throws usage_error where PyTorch has no words for it; standard error says what it merely cannot run.
std::string data_of(ashlar::schedule const& s, std::string const& name, std::string const& format,
                    ashlar::csv_dialect dialect, time_scale const& scale,
                    ashlar::lower_options const& lowering = {});

// The length of a tick in a trace. Throws usage_error for times too long to be counted so.
double tick_ns_of_trace(time_scale const& scale, ashlar::tick longest);

}  // namespace tool
