#include "attention_tiles.cuh"

#include <math.h>

namespace gpt_cuda {

inline namespace attention_backward_cu {

using namespace ashlar::cuda;

// Tells whose gradient a block computes.
enum class gradient_of : unsigned char { queries, keys_and_values };

// With weights w = exp(scale q k - exponent), the gradient of a score is w (do v - do o) scale, and
// those of q, k and v are sums of k, q and do over it. The queries come first; they leave do o in
// `along`.
template <int D, gradient_of Of>
ASHLAR_KERNEL_OF(attention_threads, 4)
attention_backward_kernel(attention_shape shape, float scale, float const* qkv, float const* merged,
                          float const* exponent, float const* dmerged, float* along, float* dqkv) {
  constexpr int R = rows_of_warp<D>;
  constexpr bool of_keys = Of == gradient_of::keys_and_values;
  head_place const at(shape);
  int const width = shape.head_width;
  int const tile_at = of_keys ? block_x() : blocks_x() - 1 - block_x();  // the longest rows first
  own_part<D> const own(shape.context, tile_at);
  if (own.rows <= 0) return;
  int const first = own.first, mine = own.mine;
  float* const fixed = shared_memory<float>();    // keys, or queries
  float* const fixed_up = fixed + own_floats<D>;  // values, or do
  float* const tile = fixed_up + own_floats<D>;   // queries, or keys
  float* const tile_up = tile + tile_floats<D>;   // do, or values
  float* const slopes = tile_up + tile_floats<D> + mine * score_stride;
  float* const weights = of_keys ? slopes + score_floats<D> : slopes;

  auto const load_pair = [&](float* to, float* to_up, bool keys, int begin, int count) {
    int const there = shape.context - begin;
    load_rows<D>(to, qkv + at.in_rows(3, keys ? 1 : 0, begin), at.pitch(3), count, there, width,
                 own.workers);
    if (keys)
      load_rows<D>(to_up, qkv + at.in_rows(3, 2, begin), at.pitch(3), count, there, width, own.workers);
    else
      load_rows<D>(to_up, dmerged + at.in_rows(1, 0, begin), at.pitch(1), count, there, width,
                   own.workers);
  };
  load_pair(fixed, fixed_up, of_keys, first, own_rows<D>);
  // A query's row has behind its channels its exponent, and do o.
  float* const queries = of_keys ? tile + lane() * row_stride<D> : fixed + mine * row_stride<D>;
  constexpr int query_step = of_keys ? 0 : row_stride<D>;
  if constexpr (!of_keys)
    for (int r = 0; r < R; ++r) {
      if (r >= own.rows) break;
      int const query = first + mine + r;
      float sum = 0;
      ASHLAR_ROLLED
      for (int d = lane(); d < width; d += warp_size)
        sum += dmerged[at.in_rows(1, 0, query) + d] * merged[at.in_rows(1, 0, query) + d];
      sum = warp_sum(sum);
      if (lane() > 0) continue;
      queries[r * row_stride<D> + D] = exponent[at.in_list(query)];
      queries[r * row_stride<D> + D + 1] = along[at.in_list(query)] = sum;
    }

  row_sums<D> sums = {}, value_sums = {};
  int const begin = of_keys ? first / tile_rows * tile_rows : 0;
  int const end = of_keys || first + own_rows<D> > shape.context ? shape.context : first + own_rows<D>;
  for (int tile_begin = begin; tile_begin < end; tile_begin += tile_rows) {
    barrier();  // the tile before has been read
    load_pair(tile, tile_up, !of_keys, tile_begin, tile_rows);
    int const other = tile_begin + lane();
    if (of_keys && warp() == 0) {
      queries[D] = other < shape.context ? exponent[at.in_list(other)] : 0;
      queries[D + 1] = other < shape.context ? along[at.in_list(other)] : 0;
    }
    barrier();
    row_floats<D> products;
    multiply_rows<D>(fixed + mine * row_stride<D>, tile, width, products);
    for (int r = 0; r < R; ++r) {
      if (r >= own.rows) break;
      int const row = first + mine + r;
      bool const counts = of_keys ? row <= other && other < shape.context : other <= row;
      weights[r * score_stride + lane()] =
          counts ? expf(products[r] * scale - queries[r * query_step + D]) : 0;
    }
    multiply_rows<D>(fixed_up + mine * row_stride<D>, tile_up, width, products);
    for (int r = 0; r < R; ++r) {
      if (r >= own.rows) break;
      slopes[r * score_stride + lane()] =
          weights[r * score_stride + lane()] * (products[r] - queries[r * query_step + D + 1]) * scale;
    }
    barrier();
    add_rows<D>(slopes, tile, sums);
    if constexpr (of_keys) add_rows<D>(weights, tile_up, value_sums);
  }
  for (int r = 0; r < R; ++r) {
    if (r >= own.rows) break;
    int const row = first + mine + r;
    store_row<D>(dqkv + at.in_rows(3, of_keys ? 1 : 0, row), sums, r, 1, width);
    if constexpr (of_keys) store_row<D>(dqkv + at.in_rows(3, 2, row), value_sums, r, 1, width);
  }
}

}  // namespace attention_backward_cu

template <>
void causal_attention_backward(attention_shape const& shape, float const* qkv, float const* merged,
                               float const* exponent, float const* dmerged, float* along, float* dqkv,
                               cudaStream_t stream) {
  with_room_for<least_room>(shape.head_width, [&](auto room) {
    constexpr int D = room;
    constexpr std::size_t floats = 2 * (own_floats<D> + tile_floats<D> + score_floats<D>);
    using enum gradient_of;
    for (auto const kernel :
         {attention_backward_kernel<D, queries>, attention_backward_kernel<D, keys_and_values>})
      launch(kernel, attention_grid(shape, own_rows<D>), attention_threads, floats * sizeof(float),
             stream, shape, scale_of(shape), qkv, merged, exponent, dmerged, along, dqkv);
  });
}

}  // namespace gpt_cuda
