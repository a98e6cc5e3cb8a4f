#include "column_sums.hpp"
#include "pack.cuh"
#include "warp.cuh"
#include <ashlar/cuda/launch.hpp>

#include <cuda_bf16.h>

namespace gpt_cuda {

inline namespace column_sums_cu {

using ashlar::cuda::warp_size;

constexpr int warps = 8;
constexpr int rows_of_warp = 8;  // at least

// Pieces that the rows are cut into. They depend on the shape only, and so do the sums' bits.
constexpr int pieces_of(int rows) {
  constexpr int most = 64;
  int const pieces = (rows + warps * rows_of_warp - 1) / (warps * rows_of_warp);
  return pieces < most ? pieces : most;
}

// The summands of a bias gradient.
template <class T>
struct bias_term {
  static constexpr int sums = 1;
  T const* dy;

  template <int N>
  ASHLAR_DEVICE void add(int row, long long at, pack<float, N> (&sum)[sums]) const {
    static_cast<void>(row);
    auto const d = load<N>(dy + at);
    for (int k = 0; k < N; ++k) sum[0].value[k] += d.value[k];
  }
};

template <class T>
struct norm_term {
  static constexpr int sums = 2;
  T const* x;
  float const* mean;
  float const* inverse;
  T const* dy;

  template <int N>
  ASHLAR_DEVICE void add(int row, long long at, pack<float, N> (&sum)[sums]) const {
    auto const d = load<N>(dy + at);
    auto const v = load<N>(x + at);
    float const centre = mean[row];
    float const scale = inverse[row];
    for (int k = 0; k < N; ++k) {
      sum[0].value[k] += d.value[k] * ((v.value[k] - centre) * scale);
      sum[1].value[k] += d.value[k];
    }
  }
};

// Block (x, y) sums piece y of the rows, for 32 N columns. Each warp has every eighth row; their sums
// meet in shared memory, warps x columns floats. partial: sums x pieces x cols.
template <class Term, int N>
ASHLAR_KERNEL column_pieces(int rows, int cols, int rows_of_piece, Term term, float* partial,
                            int pieces) {
  int const column = (ashlar::cuda::block_x() * warp_size + lane()) * N;
  int const piece = ashlar::cuda::block_y();
  int const first = piece * rows_of_piece;
  int const end = first + rows_of_piece < rows ? first + rows_of_piece : rows;
  pack<float, N> sum[Term::sums] = {};
  if (column < cols)
    for (int row = first + warp(); row < end; row += warps)
      term.template add<N>(row, static_cast<long long>(row) * cols + column, sum);
  float* const all = ashlar::cuda::shared_memory<float>();
  for (int s = 0; s < Term::sums; ++s) {
    store<N>(all + ashlar::cuda::thread() * N, sum[s]);
    ashlar::cuda::barrier();
    for (int i = ashlar::cuda::thread(); i < warp_size * N; i += warps * warp_size) {
      int const own = ashlar::cuda::block_x() * warp_size * N + i;
      float total = 0;
      for (int w = 0; w < warps; ++w) total += all[w * warp_size * N + i];
      if (own < cols) partial[(static_cast<long long>(s) * pieces + piece) * cols + own] = total;
    }
    ashlar::cuda::barrier();
  }
}

// Block row y adds up the y-th sum.
ASHLAR_KERNEL add_pieces(int cols, int pieces, float const* partial, float* first, float* second) {
  int const column = ashlar::cuda::block_x() * ashlar::cuda::threads() + ashlar::cuda::thread();
  if (column >= cols) return;
  float const* const own =
      partial + static_cast<long long>(ashlar::cuda::block_y()) * pieces * cols + column;
  float total = 0;
  for (int piece = 0; piece < pieces; ++piece) total += own[static_cast<long long>(piece) * cols];
  float* const out = ashlar::cuda::block_y() == 0 ? first : second;
  out[column] += total;
}

template <class T, class Term>
void add_column_sums(int rows, int cols, Term term, float* partial, float* first, float* second,
                     cudaStream_t stream) {
  int const pieces = pieces_of(rows);
  int const rows_of_piece = (rows + pieces - 1) / pieces;
  int const width = is_wide<T>(cols) ? wide<T> : 1;
  int const block_columns = warp_size * width;
  ashlar::cuda::launch(is_wide<T>(cols) ? column_pieces<Term, wide<T>> : column_pieces<Term, 1>,
                       {(cols + block_columns - 1) / block_columns, pieces}, warps * warp_size,
                       sizeof(float) * static_cast<std::size_t>(warps * block_columns), stream, rows,
                       cols, rows_of_piece, term, partial, pieces);
  constexpr int threads = 64;
  ashlar::cuda::launch(add_pieces, {(cols + threads - 1) / threads, Term::sums}, threads, 0, stream,
                       cols, pieces, partial, first, second);
}

}  // namespace column_sums_cu

std::size_t column_sum_scratch(int rows, int cols, int sums) {
  return static_cast<std::size_t>(sums) * static_cast<std::size_t>(pieces_of(rows))
         * static_cast<std::size_t>(cols);
}

template <class T>
void add_bias_gradient(int rows, int cols, T const* dy, float* partial, float* bias,
                       cudaStream_t stream) {
  add_column_sums<T>(rows, cols, bias_term<T>{dy}, partial, bias, nullptr, stream);
}

template <class T>
void add_norm_gradient(int rows, int width, T const* x, float const* mean, float const* inverse,
                       T const* dy, float* partial, float* gain, float* bias, cudaStream_t stream) {
  add_column_sums<T>(rows, width, norm_term<T>{x, mean, inverse, dy}, partial, gain, bias, stream);
}

#define GPT_CUDA_COLUMN_SUMS(T)                                                                     \
  template void add_bias_gradient(int, int, T const*, float*, float*, cudaStream_t);                \
  template void add_norm_gradient(int, int, T const*, float const*, float const*, T const*, float*, \
                                  float*, float*, cudaStream_t);
GPT_CUDA_COLUMN_SUMS(float)
GPT_CUDA_COLUMN_SUMS(__nv_bfloat16)
#undef GPT_CUDA_COLUMN_SUMS

}  // namespace gpt_cuda
