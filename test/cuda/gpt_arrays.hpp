// Arrays on a GPU, and references for kernels.
#pragma once

#include <ashlar/cuda/error.hpp>
#include <ashlar/cuda/handles.hpp>

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <type_traits>
#include <vector>

namespace gpt_cuda_test {

using bf16 = __nv_bfloat16;

// A copy on the current GPU of some of the host's values.
template <class T>
class gpu_array {
 public:
  explicit gpu_array(std::vector<T> const& values)
      : size_(values.size()), memory_(values.size() * sizeof(T)) {
    ashlar::cuda::upload(memory_.data(), values.data(), size_ * sizeof(T));
  }
  explicit gpu_array(std::size_t size) : gpu_array(std::vector<T>(size)) {}

  T* get() const { return reinterpret_cast<T*>(memory_.data()); }
  operator T*() const { return get(); }
  std::size_t size() const { return size_; }

  // The values once the GPU has done all that it was told to do.
  std::vector<T> values() const {
    ASHLAR_CUDA(cudaDeviceSynchronize);
    std::vector<T> all(size_);
    ASHLAR_CUDA(cudaMemcpy, all.data(), memory_.data(), size_ * sizeof(T), cudaMemcpyDeviceToHost);
    return all;
  }

 private:
  std::size_t size_;
  ashlar::cuda::device_memory memory_;
};

// Converts any element type to double.
inline double number(double x) { return x; }
inline double number(float x) { return static_cast<double>(x); }
inline double number(bf16 x) { return static_cast<double>(__bfloat162float(x)); }
template <class T>
T element(double x) {
  if constexpr (std::is_same_v<T, bf16>)
    return __float2bfloat16(static_cast<float>(x));
  else
    return static_cast<T>(x);
}
template <class Values>
std::vector<double> as_doubles(Values const& values) {
  std::vector<double> all;
  for (auto const& x : values) all.push_back(number(x));
  return all;
}

// Normal numbers, different for each seed.
template <class T>
std::vector<T> random_values(std::size_t count, unsigned seed, double scale = 1) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> next(0, scale);
  std::vector<T> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(element<T>(next(bits)));
  return values;
}
inline std::vector<std::uint8_t> random_tokens(std::size_t count, unsigned seed, int most = 255) {
  std::mt19937 bits(seed);
  std::vector<std::uint8_t> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(static_cast<std::uint8_t>(bits() % static_cast<unsigned>(most + 1)));
  return values;
}

// The distance between two lists of numbers, relative to the length of the second.
inline double distance(std::vector<double> const& found, std::vector<double> const& expected) {
  REQUIRE(found.size() == expected.size());
  double apart = 0, length = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    apart += (found[i] - expected[i]) * (found[i] - expected[i]);
    length += expected[i] * expected[i];
  }
  return length > 0 ? std::sqrt(apart / length) : std::sqrt(apart);
}

// The error that a kernel on T may have, rounding once.
template <class T>
inline constexpr double tolerance = std::is_same_v<T, bf16> ? 4e-3 : 2e-6;

}  // namespace gpt_cuda_test
