#include "pack.cuh"
#include "softmax.hpp"
#include "warp.cuh"
#include <ashlar/cuda/launch.hpp>

#include <cuda_bf16.h>
#include <math.h>

namespace gpt_cuda {

namespace {

using ashlar::cuda::warp_size;

// The row is read twice: once for the largest and the sum so far, scaled anew whenever a larger one
// comes; the second time it is in the cache.
template <class T, int N>
ASHLAR_KERNEL causal_softmax_kernel(long long rows, int context, float scale, float const* scores,
                                    T* weights, float* exponent) {
  long long const row = warp_row();
  if (row >= rows) return;
  int const count = static_cast<int>(row % context) + 1;
  float const* const in = scores + row * context;
  T* const out = weights + row * context;
  float top = -INFINITY, sum = 0;
  for (int j = lane() * N; j < count; j += warp_size * N) {
    auto const v = load<N>(in + j);
    float larger = top;
    for (int k = 0; k < N; ++k)
      if (j + k < count && v.value[k] > larger) larger = v.value[k];
    sum *= expf((top - larger) * scale);
    for (int k = 0; k < N; ++k)
      if (j + k < count) sum += expf((v.value[k] - larger) * scale);
    top = larger;
  }
  float const highest = warp_maximum(top);
  float const mass = warp_sum(sum * expf((top - highest) * scale));
  float const inverse = 1 / mass;
  for (int j = lane() * N; j < context; j += warp_size * N) {
    pack<float, N> v = {};
    if (j < count) v = load<N>(in + j);
    for (int k = 0; k < N; ++k)
      v.value[k] = j + k < count ? expf((v.value[k] - highest) * scale) * inverse : 0;
    store<N>(out + j, v);
  }
  if (lane() == 0) exponent[row] = highest * scale + logf(mass);
}

template <class T, int N>
ASHLAR_KERNEL causal_softmax_backward_kernel(long long rows, int context, float scale,
                                             float const* scores, float const* exponent,
                                             float const* gradient, T* weights, T* dscores) {
  long long const row = warp_row();
  if (row >= rows) return;
  int const count = static_cast<int>(row % context) + 1;
  long long const begin = row * context;
  float const own = exponent[row];
  float along = 0;
  for (int j = lane() * N; j < count; j += warp_size * N) {
    auto const v = load<N>(scores + begin + j);
    auto const d = load<N>(gradient + begin + j);
    for (int k = 0; k < N; ++k)
      if (j + k < count) along += expf(v.value[k] * scale - own) * d.value[k];
  }
  along = warp_sum(along);
  for (int j = lane() * N; j < context; j += warp_size * N) {
    pack<float, N> weight = {}, d = {};
    if (j < count) {
      weight = load<N>(scores + begin + j);
      d = load<N>(gradient + begin + j);
    }
    for (int k = 0; k < N; ++k) {
      bool const counts = j + k < count;
      weight.value[k] = counts ? expf(weight.value[k] * scale - own) : 0;
      d.value[k] = counts ? weight.value[k] * (d.value[k] - along) * scale : 0;
    }
    store<N>(weights + begin + j, weight);
    store<N>(dscores + begin + j, d);
  }
}

}  // namespace

template <class T>
void causal_softmax(int matrices, int context, float scale, float const* scores, T* weights,
                    float* exponent, cudaStream_t stream) {
  long long const rows = static_cast<long long>(matrices) * context;
  ashlar::cuda::launch(
      is_wide<float>(context) ? causal_softmax_kernel<T, wide<float>> : causal_softmax_kernel<T, 1>,
      {blocks_for_rows(rows)}, threads_of_rows, 0, stream, rows, context, scale, scores, weights,
      exponent);
}

template <class T>
void causal_softmax_backward(int matrices, int context, float scale, float const* scores,
                             float const* exponent, float const* gradient, T* weights, T* dscores,
                             cudaStream_t stream) {
  long long const rows = static_cast<long long>(matrices) * context;
  ashlar::cuda::launch(is_wide<float>(context) ? causal_softmax_backward_kernel<T, wide<float>>
                                               : causal_softmax_backward_kernel<T, 1>,
                       {blocks_for_rows(rows)}, threads_of_rows, 0, stream, rows, context, scale, scores,
                       exponent, gradient, weights, dscores);
}

#define GPT_CUDA_SOFTMAX(T)                                                                            \
  template void causal_softmax(int, int, float, float const*, T*, float*, cudaStream_t);               \
  template void causal_softmax_backward(int, int, float, float const*, float const*, float const*, T*, \
                                        T*, cudaStream_t);
GPT_CUDA_SOFTMAX(float)
GPT_CUDA_SOFTMAX(__nv_bfloat16)
#undef GPT_CUDA_SOFTMAX

}  // namespace gpt_cuda
