// One way to start a kernel.
#pragma once

#include <ashlar/cuda/error.hpp>
#include <ashlar/cuda/kernel.hpp>

#include <cstddef>
#include <tuple>

namespace ashlar::cuda {

// The number of blocks in each direction.
struct grid {
  int x = 1, y = 1, z = 1;
};

// Starts kernel(arguments...) on the stream: blocks of `threads` threads with `shared` bytes of shared
// memory each. In files that nvcc compiles (or, for the tests, the grid runner executes). Throws error
// if it cannot be started.
template <class... P, class... A>
void launch(void (*kernel)(P...), grid blocks, int threads, std::size_t shared, cudaStream_t stream,
            A... arguments) {
  constexpr std::size_t default_limit = 48 << 10;  // what every kernel is given
  if (shared > default_limit)
    ASHLAR_CUDA(cudaFuncSetAttribute, reinterpret_cast<void const*>(kernel),
                cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
#if defined(__CUDACC__)
  std::tuple<P...> values(static_cast<P>(arguments)...);
  std::apply(
      [&](P&... each) {
        void* list[] = {static_cast<void*>(&each)...};
        ASHLAR_CUDA(cudaLaunchKernel, reinterpret_cast<void const*>(kernel),
                    dim3(static_cast<unsigned>(blocks.x), static_cast<unsigned>(blocks.y),
                         static_cast<unsigned>(blocks.z)),
                    dim3(static_cast<unsigned>(threads)), list, shared, stream);
      },
      values);
#else
  require(launch_grid({blocks.x, blocks.y, blocks.z}, threads, shared, stream,
                      [=] { kernel(static_cast<P>(arguments)...); }),
          "cudaLaunchKernel");
#endif
}

}  // namespace ashlar::cuda
