// How much the tool takes on: whatever is larger is refused at once rather than tried for minutes.
#pragma once

#include <cstddef>

namespace tool {

inline constexpr long long most_devices = 1'024;
inline constexpr long long most_micro_batches = 100'000;
inline constexpr long long most_sequence_chunks = 1'000;
inline constexpr long long most_data_ranks = 1'000'000;
inline constexpr long long most_passes = 1'000'000;  // of a schedule that is made again and again
inline constexpr long long most_activations = 1'000'000'000'000;
inline constexpr int most_percent = 1'000'000;  // of a device's speed
inline constexpr long long most_memory = 1LL
                                         << 42;     // bytes of a value or a device: sums do not overflow
inline constexpr std::size_t most_drawn = 100'000;  // passes of an SVG picture
inline constexpr std::size_t most_explored = 20'000;  // passes of an HTML page, both schedules together

}  // namespace tool
