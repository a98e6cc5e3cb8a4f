// Token and position embedding. Tokens are bytes; T is float or __nv_bfloat16.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace gpt_cuda {

// Row i of y (rows x width) is row input[i] of tokens (256 x width) plus row i modulo context of
// positions (context x width).
template <class T>
void embed(int rows, int width, int context, std::uint8_t const* input, T const* tokens,
           T const* positions, T* y, cudaStream_t stream);

// Adds row i of dy to row input[i] of `tokens` and to row i modulo context of `positions`. The parts of
// a row are added in the order of i, in every run.
template <class T>
void embed_backward(int rows, int width, int context, std::uint8_t const* input, T const* dy,
                    float* tokens, float* positions, cudaStream_t stream);

}  // namespace gpt_cuda
