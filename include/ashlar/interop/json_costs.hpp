// Costs that were measured, as JSON.
#pragma once

#include <ashlar/core/cost.hpp>
#include <ashlar/core/part_costs.hpp>
#include <ashlar/interop/durations.hpp>
#include <ashlar/interop/json_text.hpp>
#include <ashlar/run/measured_costs.hpp>

#include <array>
#include <string>

namespace ashlar {

// The keys of a stage's passes, in the order of measured_costs.
inline constexpr std::array<char const*, 4> measured_passes{"forward", "backward_input",
                                                            "backward_weight", "recompute"};

// `about` says what was measured, and where.
nlohmann::ordered_json to_json(measured_costs const& measured, nlohmann::ordered_json about);

// In ticks.
struct json_costs {
  costs cost = {};
  part_costs parts = {};  // what the passes consist of, if the file says it
  time_scale scale = {};
};

// Reads what to_json() writes, and the like with plain numbers for medians (docs/formats.md). The tick
// is the longest power of ten of a nanosecond of which the shortest pass has a thousand at least, so
// that rounding is less than what measuring leaves open. Throws input_error, with line, column and key,
// for what is no such file.
json_costs read_json_costs(json_text const& source);

// `path`, of the file or whatever the text shall be called, is for messages.
json_costs read_json_costs(std::string text, std::string path = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/json_costs.ipp>
#endif
