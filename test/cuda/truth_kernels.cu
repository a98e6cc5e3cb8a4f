#include "truth_kernels.hpp"
#include <ashlar/cuda/fragment.hpp>
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

constexpr int tile_stride = fragment_size + 8, tile_numbers = fragment_size * fragment_size;

ASHLAR_KERNEL tile_products_kernel(float const* a, float const* b, float* to) {
  bf16* const tile_a = shared_memory<bf16>() + warp() * 2 * fragment_size * tile_stride;
  bf16* const tile_b = tile_a + fragment_size * tile_stride;
  int const first = warp() * tile_numbers;
  for (int i = lane(); i < tile_numbers; i += warp_size) {
    int const at = i / fragment_size * tile_stride + i % fragment_size;
    tile_a[at] = from_float<bf16>(a[first + i]);
    tile_b[at] = from_float<bf16>(b[first + i]);
  }
  barrier();
  fragment const rows = load_fragment(tile_a, tile_stride);
  fragment const columns = load_transposed_fragment(tile_b, tile_stride);
  sum_fragment sums[3];
  for (int which = 0; which < 3; ++which)
    for (int i = 0; i < 8; ++i)
      sums[which].values[i] =
          to[3 * first + which * tile_numbers + fragment_row(i) * fragment_size + fragment_column(i)];
  sum_fragment plain = {};
  add_product(plain, rows, load_fragment(tile_b, tile_stride));
  for (int i = 0; i < 8; ++i) sums[0].values[i] += plain.values[i];
  add_product(sums[1], rows, columns);
  add_product(sums[2], rounded(plain), columns);
  for (int which = 0; which < 3; ++which)
    for (int i = 0; i < 8; ++i)
      to[3 * first + which * tile_numbers + fragment_row(i) * fragment_size + fragment_column(i)] =
          sums[which].values[i];
}

ASHLAR_KERNEL copy_some_kernel(float const* of, float* to, int n) {
  float* const all = shared_memory<float>();
  bool const there = thread() < n;
  copy_async(all + thread(), of + (there ? thread() : 0), there);
  await_copies();
  barrier();
  to[threads() - 1 - thread()] = all[threads() - 1 - thread()];
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
void tile_products(float const* a, float const* b, float* to, int tiles, cudaStream_t stream) {
  std::size_t const shared =
      static_cast<std::size_t>(tiles * 2 * fragment_size * tile_stride) * sizeof(bf16);
  launch(tile_products_kernel, {}, tiles * warp_size, shared, stream, a, b, to);
}
void copy_some(float const* of, float* to, int n, int most, cudaStream_t stream) {
  launch(copy_some_kernel, {}, most, static_cast<std::size_t>(most) * sizeof(float), stream, of, to, n);
}
void launch_nothing(int blocks_x, int blocks_y, int threads, int shared, cudaStream_t stream) {
  launch(nothing_kernel, {blocks_x, blocks_y}, threads, static_cast<std::size_t>(shared), stream);
}

}  // namespace ashlar::cuda_test
