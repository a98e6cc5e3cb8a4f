// One way to start a kernel.
#pragma once

#include <ashlar/cuda/error.hpp>
#include <ashlar/cuda/kernel.hpp>

#include <cstddef>

namespace ashlar::cuda {

// As many blocks as that in each direction.
struct grid {
  int x = 1, y = 1, z = 1;
};

// Starts kernel(arguments...) on the stream: blocks of `threads` threads with `shared` bytes of shared
// memory each. In files that nvcc compiles (or, for the tests, the grid runner executes). Throws error
// if it cannot be started.
template <class... P, class... A>
void launch(void (*kernel)(P...), grid blocks, int threads, std::size_t shared, cudaStream_t stream,
            A... arguments) {
#if defined(__CUDACC__)
  kernel<<<dim3(static_cast<unsigned>(blocks.x), static_cast<unsigned>(blocks.y),
                static_cast<unsigned>(blocks.z)),
           static_cast<unsigned>(threads), shared, stream>>>(static_cast<P>(arguments)...);
  require(cudaGetLastError(), "a kernel launch");
#else
  require(launch_grid({blocks.x, blocks.y, blocks.z}, threads, shared, stream,
                      [=] { kernel(static_cast<P>(arguments)...); }),
          "a kernel launch");
#endif
}

}  // namespace ashlar::cuda
