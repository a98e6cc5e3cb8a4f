#include "attention_fragments.cuh"

#include <math.h>

namespace gpt_cuda {

namespace {

using namespace ashlar::cuda;

// Whose gradient a block makes.
enum class gradient_of : unsigned char { queries, keys_and_values };

// Columns of scores that a warp has in registers at a time.
template <int D>
inline constexpr int columns_at_a_time = D > 64 ? 16 : 32;

template <int D>
inline constexpr std::size_t backward_bytes = swept_bytes<D> + 2 * 2 * sizeof(float) * swept_rows<D>;

// With weights w = exp(scale q k - exponent), the gradient of a score is w (do v - do o) scale, and
// those of q, k and v are sums of k, q and do over it. First of the queries, which leaves do o in
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
  int const there = shape.context - mine, width = shape.head_width;
  bf16* const tiles = shared_memory<bf16>();
  float* const lists = reinterpret_cast<float*>(tiles + 4 * swept_elements<D>);

  // Keys and values, or queries and do.
  auto const rows_of = [&](bool keys, int row) { return qkv + at.in_rows(3, keys ? 1 : 0, row); };
  auto const rows_up_of = [&](bool keys, int row) {
    return keys ? qkv + at.in_rows(3, 2, row) : dmerged + at.in_rows(1, 0, row);
  };
  own_factors<D> own, own_up;
  read_own<D>(own, rows_of(of_keys, mine), at.pitch(3), there, width);
  read_own<D>(own_up, rows_up_of(of_keys, mine), at.pitch(of_keys ? 3 : 1), there, width);
  of_halves exponents = {}, alongs = {};
  if constexpr (!of_keys) {
    own_factors<D> out;
    read_own<D>(out, merged + at.in_rows(1, 0, mine), at.pitch(1), there, width);
    for (int n = 0; n < D / fragment_size; ++n)
      for (int i = 0; i < 8; ++i) alongs[half_of(i)] += value_of(own_up[n], i) * value_of(out[n], i);
    for (int half = 0; half < 2; ++half) {
      alongs[half] = sum_of_row(alongs[half]);
      int const row = fragment_row(2 * half);
      if (row >= there) continue;
      exponents[half] = exponent[at.in_list(mine + row)];
      if (fragment_column(0) == 0) along[at.in_list(mine + row)] = alongs[half];
    }
  }

  own_sums<D> sums = {}, value_sums = {};
  auto const copy = [&](int begin, int buffer) {
    bf16* const tile = tiles + 2 * buffer * swept_elements<D>;
    int const left = shape.context - begin;
    copy_tile<D>(tile, rows_of(!of_keys, begin), at.pitch(3), left, width);
    copy_tile<D>(tile + swept_elements<D>, rows_up_of(!of_keys, begin), at.pitch(of_keys ? 1 : 3), left,
                 width);
    if (!of_keys || thread() >= swept_rows<D>) return;
    float* const list = lists + 2 * buffer * swept_rows<D>;
    bool const is_there = thread() < left;
    long long const query = at.in_list(is_there ? begin + thread() : begin);
    copy_async(list + thread(), exponent + query, is_there);
    copy_async(list + swept_rows<D> + thread(), along + query, is_there);
  };
  auto const add = [&](int tile_begin, int buffer) {
    float const* const list = lists + 2 * buffer * swept_rows<D>;
    ASHLAR_ROLLED
    for (int c = 0; c < swept_rows<D>; c += columns) {
      int const begin = tile_begin + c;
      if (there <= 0 || begin >= shape.context) return;
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
      add_weighed<D, columns>(sums, slopes, tile);
      if constexpr (of_keys) add_weighed<D, columns>(value_sums, weights, tile_up);
    }
  };
  int const end = of_keys || first + block_rows > shape.context ? shape.context : first + block_rows;
  sweep<D>(of_keys ? first : 0, end, copy, add);

  bf16* const to = dqkv + at.in_rows(3, of_keys ? 1 : 0, mine);
  write_own<D>(to, at.pitch(3), sums, {scale, scale}, there, width);
  if constexpr (of_keys)
    write_own<D>(dqkv + at.in_rows(3, 2, mine), at.pitch(3), value_sums, {1, 1}, there, width);
}

}  // namespace

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
