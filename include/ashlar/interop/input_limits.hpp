// How large the values of a file may be: whatever is larger is refused at once rather than tried for
// minutes.
#pragma once

namespace ashlar::input_limits {

// The largest numbers of each.
inline constexpr long long devices = 1'024;
inline constexpr int cluster_devices = 1'000'000;
inline constexpr long long micro_batches = 100'000;
inline constexpr long long sequence_chunks = 1'000;
inline constexpr int percent = 1'000'000;   // of a device's speed
inline constexpr int braided_stages = 512;  // stages with parts: there is a time for each pair of them
inline constexpr int parts = 500;           // of a pass: braids of all stages stay fast
inline constexpr long long bytes = 1LL << 42;  // of a value or a device: sums do not overflow

}  // namespace ashlar::input_limits
