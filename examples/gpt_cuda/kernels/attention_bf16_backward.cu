#include "attention_fragments.cuh"

#include <math.h>

namespace gpt_cuda {

inline namespace attention_bf16_backward_cu {

using namespace ashlar::cuda;

// Tells whose gradient a block computes.
enum class gradient_of : unsigned char { queries, keys_and_values };

// Columns of scores that a warp has in registers at a time.
template <int D>
inline constexpr int columns_at_a_time = D > 64 ? 16 : 32;

template <int D>
inline constexpr std::size_t backward_bytes = swept_bytes<D> + 2 * 2 * sizeof(float) * swept_rows<D>;

// With weights w = exp(scale q k - exponent), the gradient of a score is w (do v - do o) scale, and
// those of q, k and v are sums of k, q and do over it. The queries come first; they leave do o in
// `along`.
template <int D, gradient_of Of>
ASHLAR_KERNEL_OF(fragments_threads, 2)
attention_backward_kernel(attention_shape shape, float scale, bf16 const* qkv, bf16 const* merged,
                          float const* exponent, bf16 const* dmerged, float* along, bf16* dqkv) {
  constexpr bool of_keys = Of == gradient_of::keys_and_values;
  constexpr int columns = columns_at_a_time<D>;
  head_place const at(shape);
  int const tile_at = of_keys ? block_x() : blocks_x() - 1 - block_x();  // the longest rows first
  int const first = tile_at * block_rows, mine = first + warp() * fragment_size;
  bf16* const tiles = shared_memory<bf16>();
  // The lists hold, for a tile of queries, their exponents and then their do o.
  float* const lists = reinterpret_cast<float*>(tiles + 4 * swept_elements<D>);

  head_rows const queries = at.rows(qkv, 3, 0), keys = at.rows(qkv, 3, 1), values = at.rows(qkv, 3, 2);
  head_rows const douts = at.rows(dmerged, 1, 0);
  // Scores are products of own rows and others; do v is the product of the rows called `up`.
  head_rows const others = of_keys ? queries : keys, others_up = of_keys ? douts : values;
  own_factors<D> own, own_up;
  read_own<D>(own, of_keys ? keys : queries, mine);
  read_own<D>(own_up, of_keys ? values : douts, mine);
  of_halves exponents = {}, alongs = {};
  if constexpr (!of_keys) {
    own_factors<D> out;
    read_own<D>(out, at.rows(merged, 1, 0), mine);
    for (int n = 0; n < D / fragment_size; ++n)
      for (int i = 0; i < 8; ++i) alongs[half_of(i)] += value_of(own_up[n], i) * value_of(out[n], i);
    for (int half = 0; half < 2; ++half) {
      alongs[half] = sum_of_row(alongs[half]);
      int const row = mine + fragment_row(2 * half);
      if (row >= shape.context) continue;
      exponents[half] = exponent[at.in_list(row)];
      if (fragment_column(0) == 0) along[at.in_list(row)] = alongs[half];
    }
  }

  own_sums<D> sums = {}, value_sums = {};
  auto const copy = [&](int begin, int buffer) {
    bf16* const tile = tiles + 2 * buffer * swept_elements<D>;
    copy_tile<D>(tile, others, begin);
    copy_tile<D>(tile + swept_elements<D>, others_up, begin);
    if (!of_keys || thread() >= swept_rows<D>) return;
    float* const list = lists + 2 * buffer * swept_rows<D>;
    bool const is_there = begin + thread() < shape.context;
    long long const query = at.in_list(is_there ? begin + thread() : begin);
    copy_async(list + thread(), exponent + query, is_there);
    copy_async(list + swept_rows<D> + thread(), along + query, is_there);
  };
  auto const add = [&](int tile_begin, int buffer) {
    float const* const list = lists + 2 * buffer * swept_rows<D>;
    ASHLAR_ROLLED
    for (int c = 0; c < swept_rows<D>; c += columns) {
      int const begin = tile_begin + c;
      if (mine >= shape.context || begin >= shape.context) return;
      if (of_keys ? begin + columns <= mine : begin >= mine + fragment_size) continue;
      bf16 const* const tile = tiles + 2 * buffer * swept_elements<D> + c * swept_stride<D>;
      bf16 const* const tile_up = tile + swept_elements<D>;
      own_sums<columns> weights = {}, slopes = {};
      multiply<D, columns>(weights, own, tile);
      multiply<D, columns>(slopes, own_up, tile_up);
      leave_out_later_keys<of_keys, columns>(weights, mine, begin);
      for (int n = 0; n < columns / fragment_size; ++n)
        for (int i = 0; i < 8; ++i) {
          int const column = c + n * fragment_size + fragment_column(i);
          float const less = of_keys ? list[column] : exponents[half_of(i)];
          float const dout = of_keys ? list[swept_rows<D> + column] : alongs[half_of(i)];
          float& w = weights[n].values[i];
          w = exp2f(w * (scale * log2_e) - less * log2_e);
          slopes[n].values[i] = w * (slopes[n].values[i] - dout);
        }
      add_weighted<D, columns>(sums, slopes, tile);
      if constexpr (of_keys) add_weighted<D, columns>(value_sums, weights, tile_up);
    }
  };
  int const end = of_keys || first + block_rows > shape.context ? shape.context : first + block_rows;
  sweep<D>(of_keys ? first : 0, end, copy, add);

  write_own<D>(at.rows(dqkv, 3, of_keys ? 1 : 0), mine, sums, {scale, scale});
  if constexpr (of_keys) write_own<D>(at.rows(dqkv, 3, 2), mine, value_sums, {1, 1});
}

}  // namespace attention_bf16_backward_cu

template <>
void causal_attention_backward(attention_shape const& shape, bf16 const* qkv, bf16 const* merged,
                               float const* exponent, bf16 const* dmerged, float* along, bf16* dqkv,
                               cudaStream_t stream) {
  with_room_for<least_fragments_room>(shape.head_width, [&](auto room) {
    constexpr int D = room;
    using enum gradient_of;
    for (auto const kernel :
         {attention_backward_kernel<D, queries>, attention_backward_kernel<D, keys_and_values>})
      launch(kernel, attention_grid(shape, block_rows), fragments_threads, backward_bytes<D>, stream,
             shape, scale_of(shape), qkv, merged, exponent, dmerged, along, dqkv);
  });
}

}  // namespace gpt_cuda
