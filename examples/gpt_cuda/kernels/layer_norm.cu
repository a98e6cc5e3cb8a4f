#include "layer_norm.hpp"
#include "pack.cuh"
#include "warp.cuh"
#include <ashlar/cuda/launch.hpp>

#include <cuda_bf16.h>
#include <math.h>

namespace gpt_cuda {

inline namespace layer_norm_cu {

// The row is read three times; all but the first time it is in the cache.
template <class T, int N>
ASHLAR_KERNEL layer_norm_kernel(int rows, int width, T const* x, T const* gain, T const* bias, T* output,
                                float* mean, float* inverse) {
  long long const row = warp_row();
  if (row >= rows) return;
  T const* const in = x + row * width;
  T* const out = output + row * width;
  int const step = ashlar::cuda::warp_size * N;
  float total = 0;
  for (int j = lane() * N; j < width; j += step) {
    auto const v = load<N>(in + j);
    for (int k = 0; k < N; ++k) total += v.value[k];
  }
  float const centre = warp_sum(total) / static_cast<float>(width);
  float squares = 0;
  for (int j = lane() * N; j < width; j += step) {
    auto const v = load<N>(in + j);
    for (int k = 0; k < N; ++k) squares += (v.value[k] - centre) * (v.value[k] - centre);
  }
  constexpr float epsilon = 1e-5F;  // keeps a constant row finite
  float const scale = 1.0F / sqrtf(warp_sum(squares) / static_cast<float>(width) + epsilon);
  for (int j = lane() * N; j < width; j += step) {
    auto v = load<N>(in + j);
    auto const g = load<N>(gain + j);
    auto const b = load<N>(bias + j);
    for (int k = 0; k < N; ++k) v.value[k] = (v.value[k] - centre) * scale * g.value[k] + b.value[k];
    store<N>(out + j, v);
  }
  if (lane() == 0) {
    mean[row] = centre;
    inverse[row] = scale;
  }
}

// The row is orthogonal to 1 and of fixed length for any input, so the parts of dy along 1 and along the
// row itself go.
template <class T, int N>
ASHLAR_KERNEL layer_norm_backward_kernel(int rows, int width, T const* x, float const* mean,
                                         float const* inverse, T const* gain, T const* dy, T const* up,
                                         T* down) {
  long long const row = warp_row();
  if (row >= rows) return;
  long long const begin = row * width;
  float const centre = mean[row];
  float const scale = inverse[row];
  int const step = ashlar::cuda::warp_size * N;
  float along_one = 0, along_row = 0;
  for (int j = lane() * N; j < width; j += step) {
    auto const v = load<N>(x + begin + j);
    auto const g = load<N>(gain + j);
    auto const d = load<N>(dy + begin + j);
    for (int k = 0; k < N; ++k) {
      float const part = d.value[k] * g.value[k];
      along_one += part;
      along_row += part * ((v.value[k] - centre) * scale);
    }
  }
  along_one = warp_sum(along_one) / static_cast<float>(width);
  along_row = warp_sum(along_row) / static_cast<float>(width);
  for (int j = lane() * N; j < width; j += step) {
    auto const v = load<N>(x + begin + j);
    auto const g = load<N>(gain + j);
    auto const d = load<N>(dy + begin + j);
    pack<float, N> sum = {};
    if (up != nullptr) sum = load<N>(up + begin + j);
    for (int k = 0; k < N; ++k)
      sum.value[k] +=
          (d.value[k] * g.value[k] - along_one - (v.value[k] - centre) * scale * along_row) * scale;
    store<N>(down + begin + j, sum);
  }
}

}  // namespace layer_norm_cu

template <class T>
void layer_norm(int rows, int width, T const* x, T const* gain, T const* bias, T* output, float* mean,
                float* inverse, cudaStream_t stream) {
  ashlar::cuda::launch(is_wide<T>(width) ? layer_norm_kernel<T, wide<T>> : layer_norm_kernel<T, 1>,
                       {blocks_for_rows(rows)}, threads_of_rows, 0, stream, rows, width, x, gain, bias,
                       output, mean, inverse);
}

template <class T>
void layer_norm_backward(int rows, int width, T const* x, float const* mean, float const* inverse,
                         T const* gain, T const* dy, T const* up, T* down, cudaStream_t stream) {
  ashlar::cuda::launch(
      is_wide<T>(width) ? layer_norm_backward_kernel<T, wide<T>> : layer_norm_backward_kernel<T, 1>,
      {blocks_for_rows(rows)}, threads_of_rows, 0, stream, rows, width, x, mean, inverse, gain, dy, up,
      down);
}

#define GPT_CUDA_LAYER_NORM(T)                                                                          \
  template void layer_norm(int, int, T const*, T const*, T const*, T*, float*, float*, cudaStream_t);   \
  template void layer_norm_backward(int, int, T const*, float const*, float const*, T const*, T const*, \
                                    T const*, T*, cudaStream_t);
GPT_CUDA_LAYER_NORM(float)
GPT_CUDA_LAYER_NORM(__nv_bfloat16)
#undef GPT_CUDA_LAYER_NORM

}  // namespace gpt_cuda
