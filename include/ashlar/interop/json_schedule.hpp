// Reads your own schedules and building blocks from JSON.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/interop/durations.hpp>
#include <ashlar/interop/json_text.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <optional>
#include <string>

namespace ashlar {

// The content of a file. The caller repeats a block to make the schedule.
struct json_schedule {
  std::string name = {};                    // the file's name for it
  std::optional<ashlar::block> block = {};  // if the file has one
  ashlar::schedule schedule = {};
  time_scale scale = {};     // of its costs
  std::string rounded = {};  // the first time with more than most_decimals decimals; empty: none
};

// Reads files by to_json(), and blocks, which have `cells` (docs/formats.md). Throws input_error, with
// line, column and key, for any other file. The schedule or block may be invalid; see check().
json_schedule read_json_schedule(json_text const& source);

// Reads a text. `path` is its name in messages.
json_schedule read_json_schedule(std::string text, std::string path = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/json_schedule.ipp>
#endif
