// The report of `ashlar simulate`, as text, JSON or a trace.
#pragma once

#include "options/shape_options.hpp"
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/search/residency.hpp>
#include <ashlar/simulate/part_timeline.hpp>
#include <ashlar/simulate/simulate.hpp>
#include <ashlar/simulate/slack.hpp>

#include <nlohmann/json_fwd.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tool {

struct simulated_schedule {
  chosen_schedule chosen;
  ashlar::program low;
  ashlar::simulation run;
  std::optional<ashlar::bound> least;           // of the run
  std::optional<ashlar::bound> schedule_least;  // of the schedule, whose transfers are its own
  std::optional<std::vector<ashlar::link_slack>> slacks = {};
  std::optional<ashlar::part_timeline> parts = {};          // of the schedule, if its costs have parts
  ashlar::lower_options lowering = {};                      // that made the program
  std::optional<ashlar::residency_choice> by_pytorch = {};  // beside a chosen plan of weights

  std::string name_of(int index) const {
    return index < 0 ? "-" : to_string(low.instructions[static_cast<std::size_t>(index)]);
  }
  std::string time(ashlar::tick t) const { return chosen.scale.number(t); }
  int device_of(int index) const { return device_of_instruction(low, index); }
};

std::string text_of(simulated_schedule const& r);
nlohmann::ordered_json json_of(simulated_schedule const& r);

// The trace in the time of its unit; without one a tick is a microsecond, as in the trace of a schedule.
// Throws usage_error for times that are too long.
std::string trace_of(simulated_schedule const& r);
// The trace of parts; requires that there are any.
std::string trace_of_parts(simulated_schedule const& r);

}  // namespace tool
