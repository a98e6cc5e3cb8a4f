// Whether the tables of costs have the right number of stages, devices, micro-batches and sequence
// chunks.
#pragma once

#include <ashlar/core/cost.hpp>
#include <ashlar/core/diagnosis.hpp>

#include <cstdint>

namespace ashlar {

// Costs are of stages that are all alike, or of as many as there are; the same goes for pairs, for the
// chunks of a sequence and for micro-batches. There is a speed for each device or none. Otherwise:
// rule::tables_agree.
constexpr diagnosis check_sizes(execution_costs const& cost, int stage_count, int device_count, int m,
                                int sequence_chunks) {
  std::int64_t const rows = cost.passes.stages(), q = cost.passes.sequence_chunks();
  if (q != 1 && q != sequence_chunks) return wrong_size(table::sequence_chunk_costs, q, sequence_chunks);
  if (int const given = cost.passes.micro_batches(); given != 0 && given != m)
    return wrong_size(table::micro_batch_costs, given, m);
  if (rows != 0 && rows != stage_count)
    return wrong_size(q == 1 ? table::stage_costs : table::sequence_chunk_costs_of_stages, rows * q,
                      q * stage_count);
  if (int const pairs = cost.passes.overlapped.stages(); pairs > 1 && pairs != stage_count) {
    auto const of_pairs = [](std::int64_t n) { return saturating_product(3 * n, n); };
    return wrong_size(table::pair_costs, of_pairs(pairs), of_pairs(max_of(stage_count, 0)));
  }
  if (!cost.on.speeds.empty() && static_cast<int>(cost.on.speeds.size()) != device_count)
    return wrong_size(table::device_speeds, cost.on.speeds.size(), device_count);
  return {};
}

}  // namespace ashlar
