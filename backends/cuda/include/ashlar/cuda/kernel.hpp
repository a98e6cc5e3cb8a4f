// Everything that kernels use. nvcc makes machine code of them. If another compiler reads this, the
// tests' grid runner executes the same source on the host.
#pragma once

#include <ashlar/core/language.hpp>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#if defined(__CUDACC__)

#define ASHLAR_KERNEL __global__ void
// The kernel's blocks have at most that many threads, and it takes few enough registers for that many
// blocks to fit on a multiprocessor.
#define ASHLAR_KERNEL_OF(threads, blocks) __global__ void __launch_bounds__(threads, blocks)
#define ASHLAR_DEVICE __device__ inline
// Stands before a loop that must not be unrolled, because that would take too many registers.
#define ASHLAR_ROLLED _Pragma("unroll 1")

namespace ashlar::cuda {

inline constexpr int warp_size = 32;

// Blocks are one-dimensional, grids up to three.
ASHLAR_DEVICE int thread() { return static_cast<int>(threadIdx.x); }
ASHLAR_DEVICE int threads() { return static_cast<int>(blockDim.x); }
ASHLAR_DEVICE int block_x() { return static_cast<int>(blockIdx.x); }
ASHLAR_DEVICE int block_y() { return static_cast<int>(blockIdx.y); }
ASHLAR_DEVICE int block_z() { return static_cast<int>(blockIdx.z); }
ASHLAR_DEVICE int blocks_x() { return static_cast<int>(gridDim.x); }

// A barrier for all threads of the block.
ASHLAR_DEVICE void barrier() { __syncthreads(); }

// The value of the thread of this warp whose number differs from this one's in the bits of `mask`. All
// threads of the warp call it.
template <class T>
ASHLAR_DEVICE T shuffle_xor(T value, int mask) {
  return __shfl_xor_sync(0xffffffffU, value, mask);
}

// Begins to copy a value of 4, 8 or 16 bytes, aligned to its size, into shared memory; zeros if it does
// not exist. The value is there after await_copies(), and for other threads after a barrier that
// follows.
template <class T>
ASHLAR_DEVICE void copy_async(T* to, T const* from, bool there) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
               :
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from), "n"(sizeof(T)),
                 "r"(there ? static_cast<unsigned>(sizeof(T)) : 0U)
               : "memory");
}
// Waits for all copies that this thread has begun.
ASHLAR_DEVICE void await_copies() { asm volatile("cp.async.wait_all;" : : : "memory"); }

// The block's shared memory, as many bytes as the launch said, aligned to 16.
template <class T>
ASHLAR_DEVICE T* shared_memory() {
  extern __shared__ uint4 ashlar_shared_memory[];
  return reinterpret_cast<T*>(ashlar_shared_memory);
}

}  // namespace ashlar::cuda

#else
#include <cuda_grid.hpp>
#endif

namespace ashlar::cuda {

using bf16 = __nv_bfloat16;

// This thread's number in its warp, and the warp's in its block.
ASHLAR_DEVICE int lane() { return thread() % warp_size; }
ASHLAR_DEVICE int warp() { return thread() / warp_size; }

ASHLAR_DEVICE float to_float(float x) { return x; }
ASHLAR_DEVICE float to_float(bf16 x) { return __bfloat162float(x); }
template <class T>
ASHLAR_DEVICE T from_float(float x) {
  if constexpr (sizeof(T) == sizeof(float))
    return x;
  else
    return __float2bfloat16(x);
}

}  // namespace ashlar::cuda
