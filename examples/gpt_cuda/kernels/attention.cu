#include "attention_tiles.cuh"

#include <math.h>

namespace gpt_cuda {

inline namespace attention_cu {

using namespace ashlar::cuda;

// The block's own rows are queries. Whenever a tile has a larger score than all before, the sums are
// scaled to it.
template <int D>
ASHLAR_KERNEL attention_kernel(attention_shape shape, float scale, float const* qkv, float* merged,
                               float* exponent) {
  constexpr int R = rows_of_warp<D>;
  head_place const at(shape);
  int const width = shape.head_width, tile_at = blocks_x() - 1 - block_x();  // the longest rows first
  own_part<D> const own(shape.context, tile_at);
  if (own.rows <= 0) return;
  int const first = own.first, mine = own.mine;
  float* const queries = shared_memory<float>();
  float* const keys = queries + own_floats<D>;
  float* const values = keys + tile_floats<D>;
  float* const weights = values + tile_floats<D> + mine * score_stride;

  load_rows<D>(queries, qkv + at.in_rows(3, 0, first), at.pitch(3), own_rows<D>, shape.context - first,
               width, own.workers);
  row_floats<D> top, mass = {};
  for (float& t : top) t = -INFINITY;
  row_sums<D> sums = {};
  int const end = first + own_rows<D> < shape.context ? first + own_rows<D> : shape.context;
  for (int begin = 0; begin < end; begin += tile_rows) {
    barrier();  // the tile before has been read
    load_rows<D>(keys, qkv + at.in_rows(3, 1, begin), at.pitch(3), tile_rows, shape.context - begin,
                 width, own.workers);
    load_rows<D>(values, qkv + at.in_rows(3, 2, begin), at.pitch(3), tile_rows, shape.context - begin,
                 width, own.workers);
    barrier();
    row_floats<D> scores;
    multiply_rows<D>(queries + mine * row_stride<D>, keys, width, scores);
    for (int r = 0; r < R; ++r) {
      if (r >= own.rows) break;
      bool const counts = begin + lane() <= first + mine + r;
      float const score = counts ? scores[r] * scale : -INFINITY;
      float const larger = fmaxf(top[r], warp_maximum(score));
      float const shrunk = expf(top[r] - larger), weight = counts ? expf(score - larger) : 0;
      mass[r] = mass[r] * shrunk + weight;  // of this thread's keys
      top[r] = larger;
      for (float& sum : sums[r]) sum *= shrunk;
      weights[r * score_stride + lane()] = weight;
    }
    barrier();
    add_rows<D>(weights, values, sums);
  }
  for (int r = 0; r < R; ++r) {
    if (r >= own.rows) break;
    int const query = first + mine + r;
    float const all = warp_sum(mass[r]);
    store_row<D>(merged + at.in_rows(1, 0, query), sums, r, 1 / all, width);
    if (lane() == 0) exponent[at.in_list(query)] = top[r] + logf(all);
  }
}

}  // namespace attention_cu

template <>
void causal_attention(attention_shape const& shape, float const* qkv, float* merged, float* exponent,
                      cudaStream_t stream) {
  with_room_for<least_room>(shape.head_width, [&](auto room) {
    constexpr int D = room;
    constexpr std::size_t floats = own_floats<D> + 2 * tile_floats<D> + score_floats<D>;
    launch(attention_kernel<D>, attention_grid(shape, own_rows<D>), attention_threads,
           floats * sizeof(float), stream, shape, scale_of(shape), qkv, merged, exponent);
  });
}

}  // namespace gpt_cuda
