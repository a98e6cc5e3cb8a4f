// Kernels in which every element is by itself: which thread has which.
#pragma once

#include "pack.cuh"
#include <ashlar/cuda/kernel.hpp>

namespace gpt_cuda {

inline constexpr int threads_of_elements = 256;

// The blocks for this many packs: no more than keep a large GPU busy; a loop does the rest.
constexpr int blocks_for(long long packs) {
  constexpr long long most = 2048;
  long long const blocks = (packs + threads_of_elements - 1) / threads_of_elements;
  return static_cast<int>(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

template <int N>
ASHLAR_DEVICE long long first_element() {
  return (static_cast<long long>(ashlar::cuda::block_x()) * ashlar::cuda::threads()
          + ashlar::cuda::thread())
         * N;
}
template <int N>
ASHLAR_DEVICE long long next_element() {
  return static_cast<long long>(ashlar::cuda::blocks_x()) * ashlar::cuda::threads() * N;
}

}  // namespace gpt_cuda
