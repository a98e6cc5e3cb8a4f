// Writes a schedule and its metrics as one JSON object. It needs nlohmann::json, so the umbrella header
// leaves it out.
#pragma once

#include <ashlar/interop/durations.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <nlohmann/json.hpp>

#include <string_view>

namespace ashlar {

// Keys stay in this order. Times are ticks; `costs` gives their scale unless it is plain, so
// read_json_schedule() knows their unit. `costs.per_stage` has an entry for each stage or, if chunks of
// sequences or micro-batches differ, for each of these on each stage. Schedules with a bound have bounds
// and gaps. O(min(p, 16) p n) for n passes on p devices. Throws violation: check_form(s),
// rule::ticks_fit for a pass that starts before 0, where a makespan begins, and for a unit of no ticks
// or too many to count.
nlohmann::ordered_json to_json(schedule const& s, std::string_view name, time_scale const& scale = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/json.ipp>
#endif
