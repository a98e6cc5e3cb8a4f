#include "loss.hpp"
#include "pack.cuh"
#include "warp.cuh"
#include <ashlar/cuda/launch.hpp>

#include <cuda_bf16.h>
#include <math.h>

#include <cstddef>

namespace gpt_cuda {

inline namespace loss_cu {

using ashlar::cuda::warp_size;

template <int N, class T>
ASHLAR_DEVICE pack<float, N> logits_at(float const* row, T const* bias, int column) {
  auto sum = load<N>(row + column);
  auto const b = load<N>(bias + column);
  for (int k = 0; k < N; ++k) sum.value[k] += b.value[k];
  return sum;
}

template <class T, int N>
ASHLAR_KERNEL cross_entropy_kernel(int rows, int cols, float const* logits, T const* bias,
                                   std::uint8_t const* targets, float scale, T* gradient,
                                   float* losses) {
  long long const row = warp_row();
  if (row >= rows) return;
  float const* const in = logits + row * cols;
  T* const out = gradient + row * cols;
  int const target = targets[row];
  float top = -INFINITY;
  for (int j = lane() * N; j < cols; j += warp_size * N) {
    auto const v = logits_at<N>(in, bias, j);
    for (int k = 0; k < N; ++k)
      if (v.value[k] > top) top = v.value[k];
  }
  top = warp_maximum(top);
  float sum = 0, chosen = 0;
  for (int j = lane() * N; j < cols; j += warp_size * N) {
    auto const v = logits_at<N>(in, bias, j);
    for (int k = 0; k < N; ++k) {
      sum += expf(v.value[k] - top);
      if (j + k == target) chosen = v.value[k] - top;
    }
  }
  sum = warp_sum(sum);
  chosen = warp_sum(chosen);  // the others have zeros
  float const inverse = 1 / sum;
  for (int j = lane() * N; j < cols; j += warp_size * N) {
    auto v = logits_at<N>(in, bias, j);
    for (int k = 0; k < N; ++k)
      v.value[k] = (expf(v.value[k] - top) * inverse - (j + k == target ? 1.0F : 0.0F)) * scale;
    store<N>(out + j, v);
  }
  if (lane() == 0) losses[row] = logf(sum) - chosen;
}

constexpr int threads_of_mean = 256;

// One block computes the mean.
ASHLAR_KERNEL mean_kernel(int count, float const* values, double* mean) {
  auto* const all = ashlar::cuda::shared_memory<double>();
  double sum = 0;
  for (int i = ashlar::cuda::thread(); i < count; i += threads_of_mean)
    sum += static_cast<double>(values[i]);
  all[ashlar::cuda::thread()] = sum;
  ashlar::cuda::barrier();
  for (int half = threads_of_mean / 2; half > 0; half /= 2) {
    if (ashlar::cuda::thread() < half) all[ashlar::cuda::thread()] += all[ashlar::cuda::thread() + half];
    ashlar::cuda::barrier();
  }
  if (ashlar::cuda::thread() == 0) *mean = all[0] / count;
}

}  // namespace loss_cu

template <class T>
void cross_entropy(int rows, int cols, float const* logits, T const* bias, std::uint8_t const* targets,
                   float scale, T* gradient, float* losses, double* loss, cudaStream_t stream) {
  ashlar::cuda::launch(
      is_wide<float>(cols) ? cross_entropy_kernel<T, wide<float>> : cross_entropy_kernel<T, 1>,
      {blocks_for_rows(rows)}, threads_of_rows, 0, stream, rows, cols, logits, bias, targets, scale,
      gradient, losses);
  ashlar::cuda::launch(mean_kernel, {1}, threads_of_mean, sizeof(double) * threads_of_mean, stream, rows,
                       losses, loss);
}

template void cross_entropy(int, int, float const*, float const*, std::uint8_t const*, float, float*,
                            float*, double*, cudaStream_t);
template void cross_entropy(int, int, float const*, __nv_bfloat16 const*, std::uint8_t const*, float,
                            __nv_bfloat16*, float*, double*, cudaStream_t);

}  // namespace gpt_cuda
