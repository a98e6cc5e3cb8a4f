// Products of tiles of 16 x 16 by a warp, on tensor cores.
//
// A fragment is a lane's part of a tile, eight elements. Fragments of factors and of sums are spread
// over the warp in the same way, so that a rounded sum is a factor again (PTX ISA, matrix fragments of
// mma.m16n8k16: the first factor and two sums side by side; two second factors are one, transposed).
#pragma once

#include <ashlar/cuda/kernel.hpp>

namespace ashlar::cuda {

inline constexpr int fragment_size = 16;  // rows and columns of a tile

// Elements of bf16: 2 p in the lower half of pair p, 2 p + 1 in the upper.
struct fragment {
  unsigned pairs[4];
};
struct sum_fragment {
  float values[8];
};

// The place of element i of this lane in the tile.
ASHLAR_DEVICE int fragment_row(int i) { return lane() / 4 + i / 2 % 2 * 8; }
ASHLAR_DEVICE int fragment_column(int i) { return lane() % 4 * 2 + i % 2 + i / 4 * 8; }

}  // namespace ashlar::cuda

#if defined(__CUDACC__)

namespace ashlar::cuda {

// Rounds two numbers.
ASHLAR_DEVICE unsigned pair_of(float low, float high) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// Loads a fragment of the tile in shared memory whose rows are `stride` elements apart. Rows are aligned
// to 16 bytes. All lanes of the warp call it with the same arguments.
ASHLAR_DEVICE fragment load_fragment(bf16 const* tile, int stride) {
  bf16 const* const row = tile + lane() % 16 * stride + lane() / 16 * 8;
  fragment f;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(f.pairs[0]), "=r"(f.pairs[1]), "=r"(f.pairs[2]), "=r"(f.pairs[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
  return f;
}

// Loads a fragment of the transpose of that tile.
ASHLAR_DEVICE fragment load_transposed_fragment(bf16 const* tile, int stride) {
  bf16 const* const row = tile + (lane() % 8 + lane() / 16 * 8) * stride + lane() / 8 % 2 * 8;
  fragment f;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(f.pairs[0]), "=r"(f.pairs[1]), "=r"(f.pairs[2]), "=r"(f.pairs[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
  return f;
}

// Adds to each element the product of a row of a and a row of b: a times the transpose of b. All lanes
// of the warp call it.
ASHLAR_DEVICE void add_product(sum_fragment& sums, fragment const& a, fragment const& b) {
  for (int half = 0; half < 2; ++half) {
    float* const s = sums.values + 4 * half;
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
        : "r"(a.pairs[0]), "r"(a.pairs[1]), "r"(a.pairs[2]), "r"(a.pairs[3]), "r"(b.pairs[half]),
          "r"(b.pairs[half + 2]));
  }
}

}  // namespace ashlar::cuda

#else
#include <cuda_fragment.hpp>
#endif

namespace ashlar::cuda {

// Element i of this lane.
ASHLAR_DEVICE float value_of(fragment const& f, int i) {
  unsigned const pair = f.pairs[i / 2];
  return __builtin_bit_cast(float, i % 2 == 0 ? pair << 16U : pair & 0xffff0000U);
}

ASHLAR_DEVICE fragment rounded(sum_fragment const& sums) {
  fragment f;
  for (int p = 0; p < 4; ++p) f.pairs[p] = pair_of(sums.values[2 * p], sums.values[2 * p + 1]);
  return f;
}

}  // namespace ashlar::cuda
