// GELU in its tanh form. T is float or __nv_bfloat16.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace gpt_cuda {

// Computes y = gelu(x).
template <class T>
void gelu(std::size_t count, T const* x, T* y, cudaStream_t stream);

// Computes gradient *= the slope at x.
template <class T>
void gelu_backward(std::size_t count, T const* x, T* gradient, cudaStream_t stream);

}  // namespace gpt_cuda
