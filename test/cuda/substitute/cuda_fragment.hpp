// Fragments of tiles, where there are no tensor cores.
#pragma once

#include <ashlar/cuda/fragment.hpp>

namespace ashlar::cuda {

inline unsigned pair_of(float low, float high) {
  return static_cast<unsigned>(__float2bfloat16(high).bits) << 16U | __float2bfloat16(low).bits;
}

fragment load_fragment(bf16 const* tile, int stride);
fragment load_transposed_fragment(bf16 const* tile, int stride);

// Sums in the order of the columns, in float.
void add_product(sum_fragment& sums, fragment const& a, fragment const& b,
                 char const* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace ashlar::cuda
