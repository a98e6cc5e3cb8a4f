// Measured costs as JSON.
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

// Writes measured costs. `about` describes the measurement.
nlohmann::ordered_json to_json(measured_costs const& measured, nlohmann::ordered_json about);

// Costs in ticks.
struct json_costs {
  costs cost = {};
  part_costs parts = {};  // parts of the passes, if the file gives them
  time_scale scale = {};
};

// Reads files by to_json(), also with plain numbers instead of medians (docs/formats.md). The tick is
// the longest power of ten of a nanosecond with at least a thousand ticks in the shortest pass, so
// rounding is below measurement error. Throws input_error, with line, column and key, for any other
// file.
json_costs read_json_costs(json_text const& source);

// Reads a text. `path` is its name in messages.
json_costs read_json_costs(std::string text, std::string path = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/json_costs.ipp>
#endif
