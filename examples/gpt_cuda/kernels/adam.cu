#include "adam.hpp"
#include "elements.cuh"
#include "pack.cuh"
#include <ashlar/cuda/launch.hpp>

#include <math.h>

#include <cstdint>

namespace gpt_cuda {

inline namespace adam_cu {

template <int N>
ASHLAR_KERNEL adam_kernel(long long count, adam_numbers const* numbers, double const* squares,
                          float const* gradient, float* weights, float* first, float* second,
                          __nv_bfloat16* shadow, double* seen) {
  adam_numbers const n = *numbers;
  float factor = 1;
  if (squares != nullptr) {
    double const square = *squares;
    if (first_element<N>() == 0) *seen = square;
    if (!(square - square == 0)) return;  // infinite, or not a number
    double const norm = sqrt(square);
    if (n.clip > 0 && norm > n.clip) factor = static_cast<float>(n.clip / norm);
  }
  for (long long i = first_element<N>(); i < count; i += next_element<N>()) {
    auto const g = load<N>(gradient + i);
    auto w = load<N>(weights + i);
    auto m = load<N>(first + i);
    auto v = load<N>(second + i);
    for (int k = 0; k < N; ++k) {
      float const clipped = g.value[k] * factor;
      // This says which product is rounded: the compiler would choose another one in packs than one by
      // one, and shards would not have the bits of the whole.
      m.value[k] = fmaf(n.beta1, m.value[k], (1 - n.beta1) * clipped);
      v.value[k] = fmaf(n.beta2, v.value[k], (1 - n.beta2) * (clipped * clipped));
      w.value[k] -= n.rate * m.value[k] / (sqrtf(v.value[k]) + n.epsilon);
    }
    store<N>(weights + i, w);
    store<N>(first + i, m);
    store<N>(second + i, v);
    if (shadow != nullptr) store<N>(shadow + i, w);
  }
}

template <int N>
ASHLAR_KERNEL round_kernel(long long count, float const* from, __nv_bfloat16* to) {
  for (long long i = first_element<N>(); i < count; i += next_element<N>())
    store<N>(to + i, load<N>(from + i));
}

bool is_aligned(void const* p, std::uintptr_t to) {
  return reinterpret_cast<std::uintptr_t>(p) % to == 0;
}

}  // namespace adam_cu

void adam_step(std::size_t count, adam_numbers const* numbers, double const* squares,
               float const* gradient, float* weights, float* first, float* second, __nv_bfloat16* shadow,
               double* seen, cudaStream_t stream) {
  auto const elements = static_cast<long long>(count);
  // A shard may start anywhere.
  bool const whole = is_wide<float>(elements) && is_aligned(gradient, 16) && is_aligned(weights, 16)
                     && is_aligned(shadow, 8);
  ashlar::cuda::launch(whole ? adam_kernel<wide<float>> : adam_kernel<1>,
                       {blocks_for(packs_of<float>(elements, whole))}, threads_of_elements, 0, stream,
                       elements, numbers, squares, gradient, weights, first, second, shadow, seen);
}

void round_to_bf16(std::size_t count, float const* from, __nv_bfloat16* to, cudaStream_t stream) {
  auto const elements = static_cast<long long>(count);
  ashlar::cuda::launch(is_wide<float>(elements) ? round_kernel<wide<float>> : round_kernel<1>,
                       {blocks_for(packs_of<float>(elements, is_wide<float>(elements)))},
                       threads_of_elements, 0, stream, elements, from, to);
}

}  // namespace gpt_cuda
