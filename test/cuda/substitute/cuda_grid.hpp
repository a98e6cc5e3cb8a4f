// What kernels use, where no GPU runs them: the threads of a block take turns on one thread of the host.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <type_traits>

#define ASHLAR_KERNEL inline void
#define ASHLAR_KERNEL_OF(threads, blocks) inline void
#define ASHLAR_DEVICE inline
#define ASHLAR_ROLLED

namespace ashlar::cuda {

inline constexpr int warp_size = 32;

namespace grid_detail {

// Where the code that runs now is in its grid.
struct place {
  int thread = 0, threads = 0, block_x = 0, block_y = 0, block_z = 0, blocks_x = 0;
  void* shared = nullptr;
};
extern constinit thread_local place here;

inline constexpr std::size_t largest_shuffled = 16;  // bytes

void wait_at_barrier(char const* file, int line);
// Exchanges `bytes` bytes with the lane whose number differs in the bits of `mask`.
void exchange(void* value, std::size_t bytes, int mask, char const* file, int line);

}  // namespace grid_detail

inline int thread() { return grid_detail::here.thread; }
inline int threads() { return grid_detail::here.threads; }
inline int block_x() { return grid_detail::here.block_x; }
inline int block_y() { return grid_detail::here.block_y; }
inline int block_z() { return grid_detail::here.block_z; }
inline int blocks_x() { return grid_detail::here.blocks_x; }

inline void barrier(char const* file = __builtin_FILE(), int line = __builtin_LINE()) {
  grid_detail::wait_at_barrier(file, line);
}

template <class T>
T shuffle_xor(T value, int mask, char const* file = __builtin_FILE(), int line = __builtin_LINE()) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= grid_detail::largest_shuffled);
  grid_detail::exchange(&value, sizeof value, mask, file, line);
  return value;
}

template <class T>
T* shared_memory() {
  return static_cast<T*>(grid_detail::here.shared);
}

struct grid_size {
  int x, y, z;
};

// Runs `body` for every thread of the grid, at its place in the stream. What a launch on a GPU refuses
// is refused.
cudaError_t launch_grid(grid_size blocks, int threads, std::size_t shared_bytes, cudaStream_t stream,
                        std::function<void()> body);

}  // namespace ashlar::cuda
