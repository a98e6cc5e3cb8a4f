// Rows read and written 16 bytes at a time where their length allows it.
#pragma once

#include <ashlar/cuda/kernel.hpp>

#include <cstddef>

namespace gpt_cuda {

using ashlar::cuda::from_float;
using ashlar::cuda::to_float;

// N neighbours, moved by one instruction.
template <class T, int N>
struct alignas(sizeof(T) * static_cast<std::size_t>(N)) pack {
  T value[static_cast<std::size_t>(N)];
};

// Elements in 16 bytes.
template <class T>
inline constexpr int wide = 16 / static_cast<int>(sizeof(T));

// Whether rows of this many elements, the first of which is aligned, consist of whole packs.
template <class T>
constexpr bool is_wide(long long elements) {
  return elements % wide<T> == 0;
}

// Packs of this many elements, if they go in packs.
template <class T>
constexpr long long packs_of(long long elements, bool whole) {
  return whole ? elements / wide<T> : elements;
}

template <int N, class T>
ASHLAR_DEVICE pack<float, N> load(T const* from) {
  pack<T, N> const raw = *reinterpret_cast<pack<T, N> const*>(from);
  pack<float, N> values;
  for (int i = 0; i < N; ++i) values.value[i] = to_float(raw.value[i]);
  return values;
}

template <int N, class T>
ASHLAR_DEVICE void store(T* to, pack<float, N> const& values) {
  pack<T, N> raw;
  for (int i = 0; i < N; ++i) raw.value[i] = from_float<T>(values.value[i]);
  *reinterpret_cast<pack<T, N>*>(to) = raw;
}

}  // namespace gpt_cuda
