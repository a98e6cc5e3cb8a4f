// Schedules of one's own, from files.
#pragma once

#include "cost_options.hpp"
#include "json_files.hpp"
#include <ashlar/block/block.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace tool {

struct schedule_file {
  std::string name = {};               // that the file gives it
  std::optional<ashlar::block> block;  // if the file is of one
  ashlar::schedule schedule;
  time_scale scale = {};  // of its costs
};

// A CSV of PyTorch's, with communication or without; JSON as `emit` and `search` write it; or JSON of a
// building block, which is repeated for `micro_batches` (0: those of one block) and squeezed. Costs,
// if any are given, replace those of the file. The schedule is valid.
// Throws usage_error for a file that cannot be used, and violation for what is no schedule.
schedule_file read_schedule(std::string const& path, long long micro_batches, cost_options const& cost);

// Throws usage_error unless costs, those of the file `path`, are of all stages or of each.
void must_fit_stages(ashlar::costs const& cost, ashlar::schedule const& s, std::string const& path);

// The parts of such a file of JSON. Throw usage_error with line and column.
ashlar::schedule schedule_of_json(json_text const& source);
time_scale scale_of_json(json_text const& source);
ashlar::block block_of_json(json_text const& source);

}  // namespace tool
