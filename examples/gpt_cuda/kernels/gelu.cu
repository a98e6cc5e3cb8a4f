#include "elements.cuh"
#include "gelu.hpp"
#include "pack.cuh"
#include <ashlar/cuda/launch.hpp>

#include <cuda_bf16.h>
#include <math.h>

namespace gpt_cuda {

inline namespace gelu_cu {

constexpr float a = 0.7978845608028654F;  // sqrt(2 / pi)
constexpr float b = 0.044715F;

template <class T, int N>
ASHLAR_KERNEL gelu_kernel(long long count, T const* x, T* y) {
  for (long long i = first_element<N>(); i < count; i += next_element<N>()) {
    auto v = load<N>(x + i);
    for (int k = 0; k < N; ++k) {
      float const t = tanhf(a * v.value[k] * (1 + b * v.value[k] * v.value[k]));
      v.value[k] = 0.5F * v.value[k] * (1 + t);
    }
    store<N>(y + i, v);
  }
}

template <class T, int N>
ASHLAR_KERNEL gelu_backward_kernel(long long count, T const* x, T* gradient) {
  for (long long i = first_element<N>(); i < count; i += next_element<N>()) {
    auto const v = load<N>(x + i);
    auto d = load<N>(gradient + i);
    for (int k = 0; k < N; ++k) {
      float const square = v.value[k] * v.value[k];
      float const t = tanhf(a * v.value[k] * (1 + b * square));
      float const inner = a * (1 + 3 * b * square);
      d.value[k] *= 0.5F * (1 + t + v.value[k] * (1 - t * t) * inner);
    }
    store<N>(gradient + i, d);
  }
}

}  // namespace gelu_cu

template <class T>
void gelu(std::size_t count, T const* x, T* y, cudaStream_t stream) {
  auto const elements = static_cast<long long>(count);
  ashlar::cuda::launch(is_wide<T>(elements) ? gelu_kernel<T, wide<T>> : gelu_kernel<T, 1>,
                       {blocks_for(packs_of<T>(elements, is_wide<T>(elements)))}, threads_of_elements, 0,
                       stream, elements, x, y);
}

template <class T>
void gelu_backward(std::size_t count, T const* x, T* gradient, cudaStream_t stream) {
  auto const elements = static_cast<long long>(count);
  ashlar::cuda::launch(
      is_wide<T>(elements) ? gelu_backward_kernel<T, wide<T>> : gelu_backward_kernel<T, 1>,
      {blocks_for(packs_of<T>(elements, is_wide<T>(elements)))}, threads_of_elements, 0, stream,
      elements, x, gradient);
}

template void gelu(std::size_t, float const*, float*, cudaStream_t);
template void gelu(std::size_t, __nv_bfloat16 const*, __nv_bfloat16*, cudaStream_t);
template void gelu_backward(std::size_t, float const*, float*, cudaStream_t);
template void gelu_backward(std::size_t, __nv_bfloat16 const*, __nv_bfloat16*, cudaStream_t);

}  // namespace gpt_cuda
