// A warp works on a row: who is who, and sums that all its threads have.
#pragma once

#include <ashlar/cuda/kernel.hpp>

namespace gpt_cuda {

// Kernels with a warp for each row use blocks of this size.
inline constexpr int rows_of_block = 8;
inline constexpr int threads_of_rows = rows_of_block * ashlar::cuda::warp_size;

constexpr int blocks_for_rows(long long rows) {
  return static_cast<int>((rows + rows_of_block - 1) / rows_of_block);
}

using ashlar::cuda::lane;
using ashlar::cuda::warp;

// The row of this warp.
ASHLAR_DEVICE long long warp_row() {
  return static_cast<long long>(ashlar::cuda::block_x()) * rows_of_block + warp();
}

// Every thread gets the same bits: a sum of two does not depend on which comes first.
template <class T>
ASHLAR_DEVICE T warp_sum(T value) {
  for (int mask = ashlar::cuda::warp_size / 2; mask > 0; mask /= 2)
    value += ashlar::cuda::shuffle_xor(value, mask);
  return value;
}

ASHLAR_DEVICE float warp_maximum(float value) {
  for (int mask = ashlar::cuda::warp_size / 2; mask > 0; mask /= 2) {
    float const other = ashlar::cuda::shuffle_xor(value, mask);
    value = other > value ? other : value;
  }
  return value;
}

}  // namespace gpt_cuda
