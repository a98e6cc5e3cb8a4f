// Limits on the values of a file. Larger values are refused at once rather than tried for minutes.
#pragma once

#include <ashlar/core/language.hpp>

namespace ashlar::input_limits {

// The largest allowed numbers.
inline constexpr long long devices = 1'024;
inline constexpr int cluster_devices = 1'000'000;
inline constexpr long long micro_batches = 100'000;
inline constexpr long long sequence_chunks = 1'000;
inline constexpr long long data_ranks = 1'000'000;
inline constexpr long long passes = 1'000'000;  // of a schedule that is made again and again
inline constexpr int percent = 1'000'000;       // of a device's speed
inline constexpr int braided_stages = 512;      // stages with parts: each pair of them has a time
inline constexpr int parts = 500;               // of a pass: braids of all stages stay fast
inline constexpr long long bytes = 1LL << 42;   // of a value or a device: sums do not overflow

}  // namespace ashlar::input_limits
