#include "pack.cuh"
#include "squares.hpp"
#include <ashlar/cuda/launch.hpp>

#include <cstdint>

namespace gpt_cuda {

inline namespace squares_cu {

constexpr int threads = 256;
constexpr int neighbours = 16;

// Rounds numbers below 128 to a multiple of square_unit.
ASHLAR_DEVICE double in_units(double x) {
  constexpr double shift = 1.5 * square_unit * static_cast<double>(1LL << 52);
  return x < shift / 3 ? (x + shift) - shift : x;
}

// The sum of all threads' values, in thread 0.
ASHLAR_DEVICE double block_sum(double value) {
  auto* const all = ashlar::cuda::shared_memory<double>();
  all[ashlar::cuda::thread()] = value;
  ashlar::cuda::barrier();
  for (int half = threads / 2; half > 0; half /= 2) {
    if (ashlar::cuda::thread() < half) all[ashlar::cuda::thread()] += all[ashlar::cuda::thread() + half];
    ashlar::cuda::barrier();
  }
  return all[0];
}

template <int N>
ASHLAR_KERNEL squares_kernel(long long count, float const* values, double* pieces) {
  double sum = 0;
  long long const step = static_cast<long long>(ashlar::cuda::blocks_x()) * threads * neighbours;
  for (long long i = (static_cast<long long>(ashlar::cuda::block_x()) * threads + ashlar::cuda::thread())
                     * neighbours;
       i < count; i += step) {
    double own = 0;
    for (int j = 0; j < neighbours && i + j < count; j += N) {
      auto const v = load<N>(values + i + j);
      for (int k = 0; k < N; ++k)
        own += static_cast<double>(v.value[k]) * static_cast<double>(v.value[k]);
    }
    sum += in_units(own);
  }
  sum = block_sum(sum);
  if (ashlar::cuda::thread() == 0) pieces[ashlar::cuda::block_x()] = sum;
}

ASHLAR_KERNEL sum_kernel(int count, double const* pieces, double* sum) {
  double own = 0;
  for (int i = ashlar::cuda::thread(); i < count; i += threads) own += pieces[i];
  own = block_sum(own);
  if (ashlar::cuda::thread() == 0) *sum = own;
}

}  // namespace squares_cu

void set_squares(std::size_t count, float const* values, double* pieces, cudaStream_t stream) {
  bool const whole = count % 4 == 0 && reinterpret_cast<std::uintptr_t>(values) % 16 == 0;
  ashlar::cuda::launch(whole ? squares_kernel<4> : squares_kernel<1>, {square_pieces}, threads,
                       sizeof(double) * threads, stream, static_cast<long long>(count), values, pieces);
}

void set_sum_of_squares(int count, double const* pieces, double* sum, cudaStream_t stream) {
  ashlar::cuda::launch(sum_kernel, {1}, threads, sizeof(double) * threads, stream, count, pieces, sum);
}

}  // namespace gpt_cuda
