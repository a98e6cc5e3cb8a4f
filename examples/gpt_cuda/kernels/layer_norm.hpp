// Layer normalisation of every row, and its gradients. T is float or __nv_bfloat16; sums are float.
#pragma once

#include <cuda_runtime.h>

namespace gpt_cuda {

// Computes output = (x - mean) inverse gain + bias, rows x width; mean and inverse standard deviation of
// each row are kept for the backward pass.
template <class T>
void layer_norm(int rows, int width, T const* x, T const* gain, T const* bias, T* output, float* mean,
                float* inverse, cudaStream_t stream);

// Computes down = up + the gradient of x, dy being that of the output. Without `up` (null) it is just
// that gradient; down may be up.
template <class T>
void layer_norm_backward(int rows, int width, T const* x, float const* mean, float const* inverse,
                         T const* gain, T const* dy, T const* up, T* down, cudaStream_t stream);

}  // namespace gpt_cuda
