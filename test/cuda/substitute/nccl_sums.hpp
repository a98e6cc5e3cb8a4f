// Sums, products and extremes of all of NCCL's types.
#pragma once

#include <nccl.h>

#include <cstddef>

namespace nccl_substitute {

// The bytes of an element; 0: no such type.
std::size_t size_of(ncclDataType_t type);

// Computes into[i] = op(into[i], term[i]), rounded to the type; the average is a sum here.
void combine(std::byte* into, std::byte const* term, std::size_t count, ncclDataType_t type,
             ncclRedOp_t op);
// Divides the sum of `terms` terms, if the operation is the average.
void divide(std::byte* sums, std::size_t count, ncclDataType_t type, int terms);

}  // namespace nccl_substitute
