// Attention in bf16, by products of fragments: who has which rows, and sums over them.
//
// A block of threads has 64 rows of its own, queries or keys of one head of one sequence, each warp 16
// of them, in its registers. It goes through the others in order, tile by tile (Dao, FlashAttention-2,
// 2023, algorithms 1 and 2); the next tile comes into shared memory while this one is worked on. So all
// sums have one order.
#pragma once

#include "attention_place.cuh"
#include "pack.cuh"
#include <ashlar/cuda/fragment.hpp>

#include <math.h>

#include <cstddef>

namespace gpt_cuda {

using ashlar::cuda::bf16;
using ashlar::cuda::fragment;
using ashlar::cuda::fragment_column;
using ashlar::cuda::fragment_row;
using ashlar::cuda::fragment_size;
using ashlar::cuda::load_fragment;
using ashlar::cuda::load_transposed_fragment;
using ashlar::cuda::pair_of;
using ashlar::cuda::sum_fragment;

// D: channels of a head, rounded up to what there are kernels for.
inline constexpr int least_fragments_room = fragment_size;
inline constexpr int fragments_threads = 4 * ashlar::cuda::warp_size;
inline constexpr int block_rows = 4 * fragment_size;
// Rows of a tile; two pairs of tiles fit into the shared memory that every kernel is given.
template <int D>
inline constexpr int swept_rows = D > 64 ? 32 : 64;
// Elements from a row to the next: eight rows of 16 bytes each are in banks of their own.
template <int D>
inline constexpr int swept_stride = D + 8;
template <int D>
inline constexpr int swept_elements = swept_rows<D>* swept_stride<D>;
template <int D>
inline constexpr std::size_t swept_bytes = 2 * 2 * sizeof(bf16) * swept_elements<D>;

// The part of a tile from row 16 row and channel 16 channel on.
template <int D>
ASHLAR_DEVICE bf16 const* tile_in(bf16 const* tile, int row, int channel) {
  return tile + (row * swept_stride<D> + channel) * fragment_size;
}

inline constexpr float log2_e = 1.44269504F, ln_2 = 0.693147181F;

// The warp's 16 rows of this many columns, channels or rows of a tile: as factors and as sums.
template <int Columns>
using own_factors = fragment[static_cast<std::size_t>(Columns / fragment_size)];
template <int Columns>
using own_sums = sum_fragment[static_cast<std::size_t>(Columns / fragment_size)];
// A value for each row that a lane has a part of: elements i of a fragment are of row `half_of(i)`.
using of_halves = float[2];
ASHLAR_DEVICE constexpr int half_of(int i) { return i / 2 % 2; }

// The sum, or the largest, of the lanes that have parts of the same rows.
ASHLAR_DEVICE float sum_of_row(float value) {
  value += ashlar::cuda::shuffle_xor(value, 1);
  return value + ashlar::cuda::shuffle_xor(value, 2);
}
ASHLAR_DEVICE float largest_of_row(float value) {
  value = fmaxf(value, ashlar::cuda::shuffle_xor(value, 1));
  return fmaxf(value, ashlar::cuda::shuffle_xor(value, 2));
}

// Reads the warp's rows from `first` on; zeros for rows and channels that are not there.
template <int D>
ASHLAR_DEVICE void read_own(own_factors<D>& to, head_rows<bf16 const> const& from, int first) {
  bf16 const* const begin = from.from(first);
  for (int n = 0; n < D / fragment_size; ++n)
    for (int p = 0; p < 4; ++p) {
      int const row = fragment_row(2 * p);
      int const channel = n * fragment_size + fragment_column(2 * p);
      to[n].pairs[p] = 0;
      if (first + row >= from.count || channel >= from.width) continue;
      bf16 const* const pair = begin + row * from.pitch + channel;
      if (from.width % 2 == 0)
        to[n].pairs[p] = *reinterpret_cast<unsigned const*>(pair);
      else
        to[n].pairs[p] = pair_of(to_float(pair[0]), channel + 1 < from.width ? to_float(pair[1]) : 0);
    }
}

// Writes the warp's sums, times a factor by row.
template <int D, int N>
ASHLAR_DEVICE void write_packs(head_rows<bf16> const& to, int first, own_sums<D> const& sums,
                               of_halves const& factors) {
  bf16* const begin = to.from(first);
  for (int n = 0; n < D / fragment_size; ++n)
    for (int i = 0; i < 8; i += N) {
      int const row = fragment_row(i), channel = n * fragment_size + fragment_column(i);
      if (first + row >= to.count || channel >= to.width) continue;
      pack<float, N> values;
      for (int k = 0; k < N; ++k) values.value[k] = sums[n].values[i + k] * factors[half_of(i)];
      store<N>(begin + row * to.pitch + channel, values);
    }
}
template <int D>
ASHLAR_DEVICE void write_own(head_rows<bf16> const& to, int first, own_sums<D> const& sums,
                             of_halves const& factors) {
  if (to.width % 2 == 0)
    write_packs<D, 2>(to, first, sums, factors);
  else
    write_packs<D, 1>(to, first, sums, factors);
}

// Begins to bring the rows from `first` on into a tile; zeros for rows and channels that are not there.
template <int D>
ASHLAR_DEVICE void copy_tile(bf16* tile, head_rows<bf16 const> const& from, int first) {
  constexpr int all = swept_rows<D> * D, step = wide<bf16>;
  bf16 const* const begin = from.from(first);
  if (from.width % step == 0) {
    using bytes = pack<bf16, step>;
    ASHLAR_ROLLED
    for (int i = ashlar::cuda::thread() * step; i < all; i += fragments_threads * step) {
      int const row = i / D, channel = i % D;
      bool const there = first + row < from.count && channel < from.width;
      bf16 const* const source = begin + (there ? row * from.pitch + channel : 0);
      ashlar::cuda::copy_async(reinterpret_cast<bytes*>(tile + row * swept_stride<D> + channel),
                               reinterpret_cast<bytes const*>(source), there);
    }
  } else {
    ASHLAR_ROLLED
    for (int i = ashlar::cuda::thread(); i < all; i += fragments_threads) {
      int const row = i / D, channel = i % D;
      bool const there = first + row < from.count && channel < from.width;
      tile[row * swept_stride<D> + channel] =
          there ? begin[row * from.pitch + channel] : from_float<bf16>(0);
    }
  }
}

// copy(tile, buffer) begins to bring the rows from `tile` on into one of two buffers, act(tile, buffer)
// works on them once they are there. All threads of the block come here.
template <int D, class Copy, class Act>
ASHLAR_DEVICE void sweep(int begin, int end, Copy copy, Act act) {
  copy(begin, 0);
  ASHLAR_ROLLED
  for (int tile = begin, buffer = 0; tile < end; tile += swept_rows<D>, buffer = 1 - buffer) {
    ashlar::cuda::await_copies();
    ashlar::cuda::barrier();  // for what others copied, and until they have read the tile before
    if (tile + swept_rows<D> < end) copy(tile + swept_rows<D>, 1 - buffer);
    act(tile, buffer);
  }
}

// Adds the products of own rows with rows of a tile, as many as there are columns.
template <int D, int Columns>
ASHLAR_DEVICE void multiply(own_sums<Columns>& products, own_factors<D> const& own, bf16 const* tile) {
  for (int k = 0; k < D / fragment_size; ++k)
    for (int n = 0; n < Columns / fragment_size; ++n)
      add_product(products[n], own[k], load_fragment(tile_in<D>(tile, n, k), swept_stride<D>));
}

// Adds to own rows the rows of a tile, weighed by the rounded weights.
template <int D, int Columns>
ASHLAR_DEVICE void add_weighted(own_sums<D>& sums, own_sums<Columns> const& weights, bf16 const* tile) {
  for (int k = 0; k < Columns / fragment_size; ++k) {
    fragment const w = rounded(weights[k]);
    for (int n = 0; n < D / fragment_size; ++n)
      add_product(sums[n], w, load_transposed_fragment(tile_in<D>(tile, k, n), swept_stride<D>));
  }
}

// Scores of own rows, which begin at `own`, with rows from `begin` on; there is none where the key is
// later than the query.
template <bool OwnAreKeys, int Columns>
ASHLAR_DEVICE void leave_out_later_keys(own_sums<Columns>& scores, int own, int begin) {
  int const last = begin + Columns - 1;
  if (OwnAreKeys ? begin >= own + fragment_size - 1 : last <= own) return;
  for (int n = 0; n < Columns / fragment_size; ++n)
    for (int i = 0; i < 8; ++i) {
      int const row = own + fragment_row(i), column = begin + n * fragment_size + fragment_column(i);
      if (OwnAreKeys ? row > column : column > row) scores[n].values[i] = -INFINITY;
    }
}

}  // namespace gpt_cuda
