#include "elements.cuh"
#include "embedding.hpp"
#include "pack.cuh"
#include <ashlar/cuda/launch.hpp>

#include <cuda_bf16.h>

namespace gpt_cuda {

inline namespace embedding_cu {

constexpr int vocabulary = 256;

template <class T, int N>
ASHLAR_KERNEL embed_kernel(long long count, int width, int context, std::uint8_t const* input,
                           T const* tokens, T const* positions, T* y) {
  for (long long i = first_element<N>(); i < count; i += next_element<N>()) {
    long long const row = i / width;
    long long const column = i % width;
    auto sum = load<N>(tokens + static_cast<long long>(input[row]) * width + column);
    auto const where = load<N>(positions + row % context * width + column);
    for (int k = 0; k < N; ++k) sum.value[k] += where.value[k];
    store<N>(y + i, sum);
  }
}

constexpr int tile = 1024;  // tokens that a block looks at together
constexpr int columns_of_block = 128;

// Whether one of four bytes is zero.
ASHLAR_DEVICE bool has_zero_byte(unsigned word) {
  return ((word - 0x01010101U) & ~word & 0x80808080U) != 0;
}

// Block (x, y) sums token y, 128 columns. Each thread goes through all rows, four at a time, and sums
// those of its token.
template <class T>
ASHLAR_KERNEL embed_tokens_backward(int rows, int width, std::uint8_t const* input, T const* dy,
                                    float* tokens) {
  int const token = ashlar::cuda::block_y();
  unsigned const four = static_cast<unsigned>(token) * 0x01010101U;
  int const column = ashlar::cuda::block_x() * columns_of_block + ashlar::cuda::thread();
  unsigned const* const words = ashlar::cuda::shared_memory<unsigned>();
  auto* const shown = ashlar::cuda::shared_memory<std::uint8_t>();
  float sum = 0;
  for (int begin = 0; begin < rows; begin += tile) {
    int const count = rows - begin < tile ? rows - begin : tile;
    for (int i = ashlar::cuda::thread(); i < tile; i += columns_of_block)
      shown[i] = i < count ? input[begin + i] : static_cast<std::uint8_t>(~token);
    ashlar::cuda::barrier();
    if (column < width)
      for (int i = 0; i < count; i += 4)
        if (has_zero_byte(words[i / 4] ^ four))
          for (int j = i; j < i + 4; ++j)
            if (shown[j] == token)
              sum += to_float(dy[static_cast<long long>(begin + j) * width + column]);
    ashlar::cuda::barrier();
  }
  if (column < width) tokens[static_cast<long long>(token) * width + column] += sum;
}

// Block (x, y) sums position y, 128 columns.
template <class T>
ASHLAR_KERNEL embed_positions_backward(int rows, int width, int context, T const* dy, float* positions) {
  int const position = ashlar::cuda::block_y();
  int const column = ashlar::cuda::block_x() * columns_of_block + ashlar::cuda::thread();
  if (column >= width) return;
  float sum = 0;
  for (long long row = position; row < rows; row += context) sum += to_float(dy[row * width + column]);
  positions[static_cast<long long>(position) * width + column] += sum;
}

}  // namespace embedding_cu

template <class T>
void embed(int rows, int width, int context, std::uint8_t const* input, T const* tokens,
           T const* positions, T* y, cudaStream_t stream) {
  long long const count = static_cast<long long>(rows) * width;
  int const blocks = blocks_for(packs_of<T>(count, is_wide<T>(width)));
  ashlar::cuda::launch(is_wide<T>(width) ? embed_kernel<T, wide<T>> : embed_kernel<T, 1>, {blocks},
                       threads_of_elements, 0, stream, count, width, context, input, tokens, positions,
                       y);
}

template <class T>
void embed_backward(int rows, int width, int context, std::uint8_t const* input, T const* dy,
                    float* tokens, float* positions, cudaStream_t stream) {
  int const across = (width + columns_of_block - 1) / columns_of_block;
  ashlar::cuda::launch(embed_tokens_backward<T>, {across, vocabulary}, columns_of_block, tile, stream,
                       rows, width, input, dy, tokens);
  ashlar::cuda::launch(embed_positions_backward<T>, {across, context}, columns_of_block, 0, stream, rows,
                       width, context, dy, positions);
}

#define GPT_CUDA_EMBEDDING(T)                                                                    \
  template void embed(int, int, int, std::uint8_t const*, T const*, T const*, T*, cudaStream_t); \
  template void embed_backward(int, int, int, std::uint8_t const*, T const*, float*, float*,     \
                               cudaStream_t);
GPT_CUDA_EMBEDDING(float)
GPT_CUDA_EMBEDDING(__nv_bfloat16)
#undef GPT_CUDA_EMBEDDING

}  // namespace gpt_cuda
