// Products of tiles by a warp, and copies into shared memory: true of GPUs and of their substitute.
#include "truth.hpp"
#include "truth_kernels.hpp"

#include <cuda_bf16.h>
#include <doctest/doctest.h>

#include <cstddef>
#include <random>
#include <vector>

using namespace ashlar;
using namespace ashlar::cuda_test;

namespace {

constexpr std::size_t tile_side = 16, tile_size = tile_side * tile_side;

// Integers that bf16 has, so that sums are exact in any order.
std::vector<float> small_integers(std::size_t count, unsigned seed) {
  std::mt19937 bits(seed);
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(bits() % 17) - 8;
  return values;
}

// Adds a times b, or its transpose, row by row.
void add_plain_product(float* to, float const* a, float const* b, bool transposed) {
  for (std::size_t row = 0; row < tile_side; ++row)
    for (std::size_t column = 0; column < tile_side; ++column)
      for (std::size_t k = 0; k < tile_side; ++k)
        to[row * tile_side + column] +=
            a[row * tile_side + k]
            * (transposed ? b[column * tile_side + k] : b[k * tile_side + column]);
}

}  // namespace

TEST_CASE("cuda truth: a warp's product of tiles has every element of a plain one") {
  auto const s = cuda::stream::make();
  constexpr std::size_t tiles = 3;
  std::vector<float> const a = small_integers(tiles * tile_size, 1),
                           b = small_integers(tiles * tile_size, 2);
  std::vector<float> expected = small_integers(3 * tiles * tile_size, 3);
  numbers const on_a(a), on_b(b), found(expected);
  tile_products(on_a.data(), on_b.data(), found.data(), tiles, s.get());
  for (std::size_t t = 0; t < tiles; ++t) {
    float const *const of_a = &a[t * tile_size], *const of_b = &b[t * tile_size];
    std::vector<float> rounded(tile_size);
    add_plain_product(rounded.data(), of_a, of_b, true);
    for (float& x : rounded) x = __bfloat162float(__float2bfloat16(x));
    float* const to = &expected[3 * t * tile_size];
    add_plain_product(to, of_a, of_b, true);
    add_plain_product(to + tile_size, of_a, of_b, false);
    add_plain_product(to + 2 * tile_size, rounded.data(), of_b, false);
  }
  ASHLAR_CUDA(cudaStreamSynchronize, s.get());
  CHECK(found.on_host() == expected);
}

TEST_CASE("cuda truth: what is copied into shared memory comes, and zeros for what is not there") {
  auto const s = cuda::stream::make();
  std::vector<float> expected = small_integers(96, 4);
  numbers const in(expected), out(std::vector<float>(96, -1));
  for (int const there : {96, 40, 0}) {
    copy_some(in.data(), out.data(), there, 96, s.get());
    ASHLAR_CUDA(cudaStreamSynchronize, s.get());
    for (std::size_t i = static_cast<std::size_t>(there); i < 96; ++i) expected[i] = 0;
    CHECK(out.on_host() == expected);
  }
}
