// Attention in float, without tensor cores: tiles in shared memory, who has which rows, and products of
// them.
//
// A block of threads has some rows of its own, queries or keys of one head of one sequence, and goes
// through the others tile by tile, in order (Dao, FlashAttention-2, 2023, algorithms 1 and 2). Each warp
// has some of the own rows; in a product of rows with rows each of its threads has another row of the
// tile, in sums over a tile each has other channels. So all sums have one order.
#pragma once

#include "attention_place.cuh"
#include "pack.cuh"
#include "warp.cuh"

#include <cstddef>

namespace gpt_cuda {

// D: channels of a head, rounded up to what there are kernels for.
inline constexpr int least_room = ashlar::cuda::warp_size;
inline constexpr int tile_rows = ashlar::cuda::warp_size;
inline constexpr int attention_warps = 8;
inline constexpr int attention_threads = attention_warps * ashlar::cuda::warp_size;
template <int D>
inline constexpr int rows_of_warp = D > 64 ? 2 : 4;  // more would not fit in registers
template <int D>
inline constexpr int own_rows = attention_warps* rows_of_warp<D>;
template <int D>
inline constexpr int channels_of_thread = D / ashlar::cuda::warp_size;
// Floats from a row to the next: threads that read four of different rows each disturb no other.
template <int D>
inline constexpr int row_stride = D + 4;
inline constexpr int score_stride = tile_rows + 4;
template <int D>
inline constexpr int tile_floats = tile_rows* row_stride<D>;
template <int D>
inline constexpr int own_floats = own_rows<D>* row_stride<D>;
template <int D>
inline constexpr int score_floats = own_rows<D>* score_stride;

// The rows of the context that a block owns, from `first` on; this warp owns `rows` of them, `mine`
// behind that. Warps without rows have nothing to do; `workers` threads have.
template <int D>
struct own_part {
  int first, mine, rows, workers;

  ASHLAR_DEVICE own_part(int context, int tile)
      : first(tile * own_rows<D>), mine(warp() * rows_of_warp<D>) {
    int const left = context - first, all = left < own_rows<D> ? left : own_rows<D>;
    rows = all - mine < rows_of_warp<D> ? all - mine : rows_of_warp<D>;
    workers = (all + rows_of_warp<D> - 1) / rows_of_warp<D> * ashlar::cuda::warp_size;
  }
};

template <int D, int N>
ASHLAR_DEVICE void load_packs(float* to, float const* from, int pitch, int rows, int there, int width,
                              int workers) {
  ASHLAR_ROLLED
  for (int i = ashlar::cuda::thread() * N; i < rows * D; i += workers * N) {
    int const row = i / D, channel = i % D;
    pack<float, N> values = {};
    if (row < there && channel < width) values = load<N>(from + row * pitch + channel);
    for (int k = 0; k < N; ++k) to[row * row_stride<D> + channel + k] = values.value[k];
  }
}
// Copies rows of a head into shared memory with this many threads; zeros where there are no more rows or
// channels.
template <int D>
ASHLAR_DEVICE void load_rows(float* to, float const* from, int pitch, int rows, int there, int width,
                             int workers) {
  if (width % wide<float> == 0)
    load_packs<D, wide<float>>(to, from, pitch, rows, there, width, workers);
  else
    load_packs<D, 1>(to, from, pitch, rows, there, width, workers);
}

// Values of a warp's own rows, and their sums over tiles by channel of this thread.
template <int D>
using row_floats = float[static_cast<std::size_t>(rows_of_warp<D>)];
template <int D>
using row_sums =
    float[static_cast<std::size_t>(rows_of_warp<D>)][static_cast<std::size_t>(channels_of_thread<D>)];

// For each own row of this warp: the product of the row at `own` and this thread's row of the tile.
template <int D>
ASHLAR_DEVICE void multiply_rows(float const* own, float const* tile, int width,
                                 row_floats<D>& products) {
  for (float& p : products) p = 0;
  float const* const other = tile + lane() * row_stride<D>;
  ASHLAR_ROLLED
  for (int d = 0; d < width; d += 4) {
    auto const b = load<4>(other + d);
    for (int r = 0; r < rows_of_warp<D>; ++r) {
      auto const a = load<4>(own + r * row_stride<D> + d);
      for (int k = 0; k < 4; ++k) products[r] += a.value[k] * b.value[k];
    }
  }
}

// Adds to each own row the rows of the tile, weighed by `weights`, the warp's rows of scores.
template <int D>
ASHLAR_DEVICE void add_rows(float const* weights, float const* tile, row_sums<D>& sums) {
  ASHLAR_ROLLED
  for (int j = 0; j < tile_rows; j += 4) {
    pack<float, 4> w[static_cast<std::size_t>(rows_of_warp<D>)];
    for (int r = 0; r < rows_of_warp<D>; ++r) w[r] = load<4>(weights + r * score_stride + j);
    for (int c = 0; c < channels_of_thread<D>; ++c)
      for (int k = 0; k < 4; ++k) {
        float const x = tile[(j + k) * row_stride<D> + c * ashlar::cuda::warp_size + lane()];
        for (int r = 0; r < rows_of_warp<D>; ++r) sums[r][c] += w[r].value[k] * x;
      }
  }
}

// Writes own row r of this warp, times `scale`, to `to`.
template <int D>
ASHLAR_DEVICE void store_row(float* to, row_sums<D> const& sums, int r, float scale, int width) {
  for (int c = 0; c < channels_of_thread<D>; ++c)
    if (int const channel = c * ashlar::cuda::warp_size + lane(); channel < width)
      to[channel] = sums[r][c] * scale;
}

}  // namespace gpt_cuda
