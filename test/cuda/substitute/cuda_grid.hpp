// Functions that kernels use, where no GPU runs them: the threads of a block take turns on one thread of
// the host.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <type_traits>

#define ASHLAR_KERNEL inline void
#define ASHLAR_KERNEL_OF(threads, blocks) inline void
#define ASHLAR_DEVICE inline
#define ASHLAR_ROLLED

namespace ashlar::cuda {

inline constexpr int warp_size = 32;

namespace grid_detail {

// The place of the code that runs now in its grid.
struct place {
  int thread = 0, threads = 0, block_x = 0, block_y = 0, block_z = 0, blocks_x = 0;
  void* shared = nullptr;
};
extern constinit thread_local place here;

void wait_at_barrier(char const* file, int line);

// The arguments of the lanes of a warp, by lane.
using of_lanes = std::array<void*, static_cast<std::size_t>(warp_size)>;
// All lanes of the warp come, each with its own argument. The last one does `act` for all of them.
void meet(char const* name, void* own, void (*act)(of_lanes const&), char const* file, int line);

// Begins a copy for await_copies(). A null source gives zeros.
void begin_copy(void* to, void const* from, std::size_t bytes);

template <class T>
struct shuffled {
  T value;
  int mask;
};
template <class T>
void shuffle(of_lanes const& lanes) {
  std::array<T, std::tuple_size_v<of_lanes>> sent{};
  for (std::size_t i = 0; i < sent.size(); ++i)
    sent[i] = static_cast<shuffled<T> const*>(lanes[i])->value;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    auto* const own = static_cast<shuffled<T>*>(lanes[i]);
    own->value = sent[i ^ static_cast<std::size_t>(own->mask)];
  }
}

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
  static_assert(std::is_trivially_copyable_v<T>);
  if (mask < 0 || mask >= warp_size)
    throw std::runtime_error("a shuffle with a lane outside of the warp");
  grid_detail::shuffled<T> own{value, mask};
  grid_detail::meet("shuffle", &own, grid_detail::shuffle<T>, file, line);
  return own.value;
}

// The copy comes as late as it may: when it is awaited.
template <class T>
void copy_async(T* to, T const* from, bool there) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);
  grid_detail::begin_copy(to, there ? from : nullptr, sizeof(T));
}
void await_copies();

template <class T>
T* shared_memory() {
  return static_cast<T*>(grid_detail::here.shared);
}

struct grid_size {
  int x, y, z;
};

// Runs `body` for every thread of the grid, at its place in the stream. Refuses a launch that a GPU
// refuses.
cudaError_t launch_grid(grid_size blocks, int threads, std::size_t shared_bytes, cudaStream_t stream,
                        std::function<void()> body);

}  // namespace ashlar::cuda
