#include "truth_kernels.hpp"
#include <ashlar/cuda/launch.hpp>

namespace ashlar::cuda_test {
namespace {

using namespace ashlar::cuda;

ASHLAR_KERNEL add_kernel(float* to, float what, int n) {
  int const i = block_x() * threads() + thread();
  if (i < n) to[i] += what;
}

ASHLAR_KERNEL append_bit_kernel(float* to, float what, int n) {
  int const i = block_x() * threads() + thread();
  if (i < n) to[i] = 2 * to[i] + what;
}

ASHLAR_KERNEL sum_kernel(float const* of, float* to, int n) {
  float* const of_warp = shared_memory<float>();
  float mine = 0;
  for (int i = thread(); i < n; i += threads()) mine += of[i];
  for (int mask = warp_size / 2; mask > 0; mask /= 2) mine += shuffle_xor(mine, mask);
  if (thread() % warp_size == 0) of_warp[thread() / warp_size] = mine;
  barrier();
  if (thread() != 0) return;
  float all = 0;
  for (int w = 0; w < threads() / warp_size; ++w) all += of_warp[w];
  *to = all;
}

ASHLAR_KERNEL round_kernel(float const* of, float* to, int n) {
  int const i = block_x() * threads() + thread();
  if (i < n) to[i] = to_float(from_float<bf16>(of[i]));
}

ASHLAR_KERNEL places_kernel(int* to) {
  int* const numbers = shared_memory<int>();
  numbers[thread()] = thread();
  barrier();
  if (thread() != 0) return;
  int* const mine = to + 6 * (block_x() + blocks_x() * (block_y() + 2 * block_z()));
  mine[0] = block_x();
  mine[1] = block_y();
  mine[2] = block_z();
  mine[3] = blocks_x();
  mine[4] = threads();
  mine[5] = 0;
  for (int t = 0; t < threads(); ++t) mine[5] += numbers[t];
}

ASHLAR_KERNEL nothing_kernel() {}

int blocks_of_64(int n) { return (n + 63) / 64; }

}  // namespace

void add(float* to, float what, int n, cudaStream_t stream) {
  launch(add_kernel, {blocks_of_64(n)}, 64, 0, stream, to, what, n);
}
void append_bit(float* to, float what, int n, cudaStream_t stream) {
  launch(append_bit_kernel, {blocks_of_64(n)}, 64, 0, stream, to, what, n);
}
void sum(float const* of, float* to, int n, cudaStream_t stream) {
  launch(sum_kernel, {}, 128, 4 * sizeof(float), stream, of, to, n);
}
void round(float const* of, float* to, int n, cudaStream_t stream) {
  launch(round_kernel, {blocks_of_64(n)}, 64, 0, stream, of, to, n);
}
void places(int* to, cudaStream_t stream) {
  launch(places_kernel, {3, 2, 2}, 64, 64 * sizeof(int), stream, to);
}
void launch_nothing(int blocks_x, int blocks_y, int threads, int shared, cudaStream_t stream) {
  launch(nothing_kernel, {blocks_x, blocks_y}, threads, static_cast<std::size_t>(shared), stream);
}

}  // namespace ashlar::cuda_test
