// Whether the tables of costs have the right number of stages, devices and sequence chunks.
#pragma once

#include <ashlar/core/cost.hpp>
#include <ashlar/core/diagnosis.hpp>

#include <cstdint>

namespace ashlar {

// Costs are of chunks that are all alike, or of as many chunks as a sequence has. There is one entry for
// all stages or one for each, and a speed for each device or none. Otherwise: rule::tables_agree.
constexpr diagnosis check_sizes(costs const& cost, int stage_count, int device_count,
                                int sequence_chunks) {
  std::int64_t const q = cost.sequence_chunks, size = static_cast<std::int64_t>(cost.per_stage.size());
  if (q != 1 && q != sequence_chunks) return wrong_size(table::costs_of_chunks, q, sequence_chunks);
  if (size != q && size != q * stage_count)
    return wrong_size(q == 1 ? table::stage_costs : table::stage_chunk_costs, size, q * stage_count);
  if (!cost.speeds.empty() && static_cast<int>(cost.speeds.size()) != device_count)
    return wrong_size(table::device_speeds, cost.speeds.size(), device_count);
  return {};
}

}  // namespace ashlar
