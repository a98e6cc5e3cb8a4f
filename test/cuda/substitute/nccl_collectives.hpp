// Who adds what to a collective call, and what each makes of it.
#pragma once

#include "nccl_exchange.hpp"

#include <cstddef>
#include <span>

namespace nccl_substitute {

// What a rank sends to another one in this call, where `from` is what it was called with.
std::span<std::byte const> part_for(collective_description const& d, std::byte const* from, int sender,
                                    int receiver);

// From all parts, by rank. Sums start with another rank in each chunk, never in the order of the ranks.
void finish(collective_call const& c, int rank);

}  // namespace nccl_substitute
