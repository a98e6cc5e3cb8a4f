// Causal attention that never writes down its scores. T is float or __nv_bfloat16; sums are in float.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace gpt_cuda {

// Matrices have sequences x context rows, each of heads x head_width channels.
struct attention_shape {
  int sequences = 1, heads = 1, context = 1, head_width = 1;
};

// A block of threads has room for this many channels of a row.
inline constexpr int widest_head = 128;

// Throws std::invalid_argument if heads are too wide.
inline void require_attention(int head_width) {
  if (head_width > widest_head)
    throw std::invalid_argument("attention on GPUs has heads of at most " + std::to_string(widest_head)
                                + " channels, not " + std::to_string(head_width));
}

// qkv: rows x 3 heads head_width, queries, keys and values in thirds. merged: rows x heads head_width.
// exponent: sequences x heads x context, the logarithm of the sum of exponentials of a row's scores.
template <class T>
void causal_attention(attention_shape const& shape, T const* qkv, T* merged, float* exponent,
                      cudaStream_t stream);
template <>
void causal_attention(attention_shape const& shape, float const* qkv, float* merged, float* exponent,
                      cudaStream_t stream);
template <>
void causal_attention(attention_shape const& shape, __nv_bfloat16 const* qkv, __nv_bfloat16* merged,
                      float* exponent, cudaStream_t stream);

// Computes dqkv from dmerged and the results of causal_attention(). along: scratch, as large as
// exponent.
template <class T>
void causal_attention_backward(attention_shape const& shape, T const* qkv, T const* merged,
                               float const* exponent, T const* dmerged, float* along, T* dqkv,
                               cudaStream_t stream);
template <>
void causal_attention_backward(attention_shape const& shape, float const* qkv, float const* merged,
                               float const* exponent, float const* dmerged, float* along, float* dqkv,
                               cudaStream_t stream);
template <>
void causal_attention_backward(attention_shape const& shape, __nv_bfloat16 const* qkv,
                               __nv_bfloat16 const* merged, float const* exponent,
                               __nv_bfloat16 const* dmerged, float* along, __nv_bfloat16* dqkv,
                               cudaStream_t stream);

}  // namespace gpt_cuda
