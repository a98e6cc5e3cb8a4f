// Reads your own schedules from files.
#pragma once

#include "options/cost_options.hpp"
#include <ashlar/interop/json_schedule.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <string>

namespace tool {

struct schedule_file : ashlar::json_schedule {  // of a CSV, the schedule alone
  bool has_costs = true;                        // whether a stage's costs are in the file
  std::string shares = {};  // which part of the model a stage has, if costs are of another; else empty
};

// Reads a CSV of PyTorch's, with communication or without; JSON as `emit` and `search` write it; or JSON
// of a building block, which is repeated for `micro_batches` (0: those of one block) and squeezed.
// Costs,
// if any are given, replace those of the file. The schedule is valid.
// Throws usage_error for a file that cannot be used, and violation for what is no schedule.
schedule_file read_schedule(std::string const& path, long long micro_batches, cost_options const& cost);

// Squeezes under the costs, if any are given; if only --causal is, under those of the file, chunk by
// chunk. Throws usage_error unless costs are of all stages or of each.
void put_under(cost_options const& cost, schedule_file& file);

// Reads a text that was loaded already from `path`; the schedule may be wrong.
schedule_file read_unchecked(std::string const& text, std::string const& path, long long micro_batches,
                             cost_options const& cost);

}  // namespace tool
