// Schedules and building blocks of one's own, from JSON.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/interop/durations.hpp>
#include <ashlar/interop/json_text.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <optional>
#include <string>

namespace ashlar {

// What a file holds. Of a block, the schedule is made by those who know how often it is repeated.
struct json_schedule {
  std::string name = {};                    // that the file gives it
  std::optional<ashlar::block> block = {};  // if the file is of one
  ashlar::schedule schedule = {};
  time_scale scale = {};     // of its costs
  std::string rounded = {};  // the first time with more decimals than are counted; empty: none
};

// Reads what to_json() writes, and blocks, which have `cells` (docs/formats.md). Throws input_error,
// with line, column and key, for what is no such file. The schedule or block may be wrong: check()
// tells.
json_schedule read_json_schedule(json_text const& source);

// `path`, of the file or whatever the text shall be called, is for messages.
json_schedule read_json_schedule(std::string text, std::string path = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/json_schedule.ipp>
#endif
