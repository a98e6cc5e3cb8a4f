// The causal softmax between the products of attention. T is float or __nv_bfloat16.
#pragma once

#include <cuda_runtime.h>

namespace gpt_cuda {

// Of `matrices` matrices of scores, context x context each: row i of `weights` is the softmax of the
// first i + 1 of scale x scores, then zeros. exponent[row] is the logarithm of the sum of the row's
// exponentials. weights may be scores.
template <class T>
void causal_softmax(int matrices, int context, float scale, float const* scores, T* weights,
                    float* exponent, cudaStream_t stream);

// From the scores and `gradient`, that of the weights, the weights again and the gradient of the scores.
// weights may be scores, and dscores gradient.
template <class T>
void causal_softmax_backward(int matrices, int context, float scale, float const* scores,
                             float const* exponent, float const* gradient, T* weights, T* dscores,
                             cudaStream_t stream);

}  // namespace gpt_cuda
