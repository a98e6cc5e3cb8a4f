// The parts that ranks add to a collective call, and its result on each.
#pragma once

#include "nccl_exchange.hpp"

#include <cstddef>
#include <span>

namespace nccl_substitute {

// The part that a rank sends to another one in this call; `from` is what it was called with.
std::span<std::byte const> part_for(collective_description const& d, std::byte const* from, int sender,
                                    int receiver);

// Computes the result from all parts, by rank. Sums start with another rank in each chunk, never in the
// order of the ranks.
void finish(collective_call const& c, int rank);

}  // namespace nccl_substitute
