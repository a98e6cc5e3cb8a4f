// Kernels for the tests that say what is true of GPUs and of their substitute.
#pragma once

#include <cuda_runtime.h>

namespace ashlar::cuda_test {

// Adds `what` to each of n numbers.
void add(float* to, float what, int n, cudaStream_t stream);
// Sets to[i] = 2 to[i] + what, so that the order of two such calls shows.
void append_bit(float* to, float what, int n, cudaStream_t stream);
// The sum of the n numbers, by one block: lanes by shuffles, warps by shared memory.
void sum(float const* of, float* to, int n, cudaStream_t stream);
// Sets to[i] = of[i] rounded to bf16.
void round(float const* of, float* to, int n, cudaStream_t stream);
// Sets to[6 b + ...] to the place of block b of a grid of 3 x 2 x 2 blocks of 64 threads: block x, y, z,
// blocks in x, threads, and the sum of the threads' numbers.
void places(int* to, cudaStream_t stream);
// Multiplies `tiles` pairs of tiles a, b of 16 x 16 numbers, rounded to bf16: a b^T, a b, and c b with c
// = a b^T rounded, each added to what is in `to`. A warp works on each pair.
void tile_products(float const* a, float const* b, float* to, int tiles, cudaStream_t stream);
// Sets to[i] = of[i] for i < n, then zeros up to most, by copies that do not wait.
void copy_some(float const* of, float* to, int n, int most, cudaStream_t stream);
// Launches a kernel of that shape that does nothing.
void launch_nothing(int blocks_x, int blocks_y, int threads, int shared, cudaStream_t stream);

}  // namespace ashlar::cuda_test
