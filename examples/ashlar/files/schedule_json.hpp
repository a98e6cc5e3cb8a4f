// Schedules and building blocks of one's own, from JSON.
#pragma once

#include "files/json_files.hpp"
#include "options/durations.hpp"
#include <ashlar/block/block.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <optional>
#include <string>

namespace tool {

// What a file holds. Of a block, the schedule is made from it by those who know how often it is
// repeated.
struct schedule_file {
  std::string name = {};                    // that the file gives it
  std::optional<ashlar::block> block = {};  // if the file is of one
  ashlar::schedule schedule = {};
  time_scale scale = {};  // of its costs
};

// Times are whole ticks where `costs` says how many make a unit (`ticks_per_unit`). Else they are as on
// the command line: whole or decimal, plain or with a unit (docs/formats.md). Throws usage_error, with
// line, column and key, for what is no such file; the schedule may be wrong.
schedule_file schedule_of_json(json_text const& source);

}  // namespace tool
