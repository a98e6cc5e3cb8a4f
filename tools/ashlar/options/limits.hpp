// Limits of the tool: it refuses larger questions at once rather than try for minutes.
#pragma once

#include <ashlar/interop/input_limits.hpp>

#include <cstddef>

namespace tool {

inline constexpr long long most_devices = ashlar::input_limits::devices;
inline constexpr long long most_micro_batches = ashlar::input_limits::micro_batches;
inline constexpr long long most_sequence_chunks = ashlar::input_limits::sequence_chunks;
inline constexpr long long most_data_ranks = ashlar::input_limits::data_ranks;
inline constexpr long long most_passes = ashlar::input_limits::passes;
inline constexpr long long most_activations = 1'000'000'000'000;
inline constexpr int most_percent = ashlar::input_limits::percent;
inline constexpr long long most_memory = ashlar::input_limits::bytes;
inline constexpr std::size_t most_drawn = 100'000;    // passes of an SVG picture
inline constexpr std::size_t most_explored = 20'000;  // passes of an HTML page, both schedules together

}  // namespace tool
