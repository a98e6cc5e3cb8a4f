// Gradients of terms that are added to, or multiply, a column: sums over the rows, always in the same
// order. There are two stages: pieces of the rows into `partial`, then the pieces one after the other.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace gpt_cuda {

// Floats of scratch memory for `sums` sums (one for a bias, two for a norm) of each of this many
// columns.
std::size_t column_sum_scratch(int rows, int cols, int sums);

// Computes bias += the sum of the rows of dy, rows x cols.
template <class T>
void add_bias_gradient(int rows, int cols, T const* dy, float* partial, float* bias,
                       cudaStream_t stream);

// Computes gain += the sum of dy times the normalised row, bias += the sum of dy; see layer_norm().
template <class T>
void add_norm_gradient(int rows, int width, T const* x, float const* mean, float const* inverse,
                       T const* dy, float* partial, float* gain, float* bias, cudaStream_t stream);

}  // namespace gpt_cuda
