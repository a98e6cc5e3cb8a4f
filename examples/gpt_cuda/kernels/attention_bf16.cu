#include "attention_fragments.cuh"

#include <math.h>

namespace gpt_cuda {

inline namespace attention_bf16_cu {

using namespace ashlar::cuda;

// The block's own rows are queries. Scores are in units of log 2. Whenever a tile has a larger one than
// all before, the sums are scaled to it.
template <int D>
ASHLAR_KERNEL_OF(fragments_threads, 2)
attention_kernel(attention_shape shape, float scale, bf16 const* qkv, bf16* merged, float* exponent) {
  constexpr int columns = swept_rows<D>;
  head_place const at(shape);
  int const first = (blocks_x() - 1 - block_x()) * block_rows;  // the longest rows first
  int const mine = first + warp() * fragment_size;
  bf16* const tiles = shared_memory<bf16>();

  own_factors<D> queries;
  read_own<D>(queries, at.rows(qkv, 3, 0), mine);
  of_halves top = {-INFINITY, -INFINITY}, mass = {};
  own_sums<D> sums = {};
  head_rows const keys = at.rows(qkv, 3, 1), values = at.rows(qkv, 3, 2);
  auto const copy = [&](int begin, int buffer) {
    bf16* const tile = tiles + 2 * buffer * swept_elements<D>;
    copy_tile<D>(tile, keys, begin);
    copy_tile<D>(tile + swept_elements<D>, values, begin);
  };
  auto const add = [&](int begin, int buffer) {
    bf16 const* const tile = tiles + 2 * buffer * swept_elements<D>;
    if (mine >= shape.context || begin >= mine + fragment_size) return;
    own_sums<columns> scores = {};
    multiply<D, columns>(scores, queries, tile);
    leave_out_later_keys<false, columns>(scores, mine, begin);
    of_halves larger = {-INFINITY, -INFINITY}, shrunk;
    for (sum_fragment const& s : scores)
      for (int i = 0; i < 8; ++i) larger[half_of(i)] = fmaxf(larger[half_of(i)], s.values[i]);
    for (int half = 0; half < 2; ++half) {
      larger[half] = fmaxf(top[half], largest_of_row(larger[half]) * scale);
      shrunk[half] = exp2f(top[half] - larger[half]);
      top[half] = larger[half];
      mass[half] *= shrunk[half];
    }
    for (sum_fragment& s : scores)
      for (int i = 0; i < 8; ++i) {
        s.values[i] = exp2f(s.values[i] * scale - top[half_of(i)]);
        mass[half_of(i)] += s.values[i];  // of this lane's keys
      }
    for (sum_fragment& s : sums)
      for (int i = 0; i < 8; ++i) s.values[i] *= shrunk[half_of(i)];
    add_weighted<D, columns>(sums, scores, tile + swept_elements<D>);
  };
  int const end = first + block_rows < shape.context ? first + block_rows : shape.context;
  sweep<D>(0, end, copy, add);

  of_halves shares;
  for (int half = 0; half < 2; ++half) {
    float const all = sum_of_row(mass[half]);
    shares[half] = 1 / all;
    int const row = mine + fragment_row(2 * half);
    if (row < shape.context && fragment_column(0) == 0)
      exponent[at.in_list(row)] = (top[half] + log2f(all)) * ln_2;
  }
  write_own<D>(at.rows(merged, 1, 0), mine, sums, shares);
}

}  // namespace attention_bf16_cu

template <>
void causal_attention(attention_shape const& shape, bf16 const* qkv, bf16* merged, float* exponent,
                      cudaStream_t stream) {
  with_room_for<least_fragments_room>(shape.head_width, [&](auto room) {
    constexpr int D = room;
    launch(attention_kernel<D>, attention_grid(shape, block_rows), fragments_threads, swept_bytes<D>,
           stream, shape, scale_of(shape) * log2_e, qkv, merged, exponent);
  });
}

}  // namespace gpt_cuda
