// Products of tiles: the last lane of a warp that comes multiplies for all.
#include <ashlar/cuda/fragment.hpp>

#include <cuda_grid.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace ashlar::cuda {

namespace {

constexpr int elements = 8;  // of a fragment
constexpr std::size_t size = fragment_size;
using tile = std::array<std::array<float, size>, size>;

struct product {
  sum_fragment* sums;
  fragment const *a, *b;
};

// The place in a tile, by lane and element.
struct place {
  std::size_t row, column;
};
constexpr auto places = [] {
  std::array<std::array<place, elements>, warp_size> all{};
  for (std::size_t lane = 0; lane < all.size(); ++lane)
    for (std::size_t i = 0; i < elements; ++i)
      all[lane][i] = {lane / 4 + i / 2 % 2 * 8, lane % 4 * 2 + i % 2 + i / 4 * 8};
  return all;
}();

void multiply(grid_detail::of_lanes const& lanes) {
  tile a, b_transposed;
  for (std::size_t l = 0; l < lanes.size(); ++l) {
    auto const* const own = static_cast<product const*>(lanes[l]);
    for (int i = 0; i < elements; ++i) {
      auto const [row, column] = places[l][static_cast<std::size_t>(i)];
      a[row][column] = value_of(*own->a, i);
      b_transposed[column][row] = value_of(*own->b, i);
    }
  }
  tile sums{};
  for (std::size_t row = 0; row < size; ++row)
    for (std::size_t k = 0; k < size; ++k)
      for (std::size_t column = 0; column < size; ++column)
        sums[row][column] += a[row][k] * b_transposed[k][column];
  for (std::size_t l = 0; l < lanes.size(); ++l)
    for (std::size_t i = 0; i < elements; ++i)
      static_cast<product const*>(lanes[l])->sums->values[i] +=
          sums[places[l][i].row][places[l][i].column];
}

void require_rows_aligned(bf16 const* from, int stride) {
  if (reinterpret_cast<std::uintptr_t>(from) % 16 != 0 || stride % 8 != 0)
    throw std::runtime_error("rows of a fragment's tile are not aligned to 16 bytes");
}

unsigned pair_of(bf16 low, bf16 high) { return static_cast<unsigned>(high.bits) << 16U | low.bits; }

}  // namespace

fragment load_fragment(bf16 const* from, int stride) {
  require_rows_aligned(from, stride);
  fragment f;
  for (int p = 0; p < 4; ++p) {
    bf16 const* const low = from + fragment_row(2 * p) * stride + fragment_column(2 * p);
    f.pairs[p] = pair_of(low[0], low[1]);
  }
  return f;
}

fragment load_transposed_fragment(bf16 const* from, int stride) {
  require_rows_aligned(from, stride);
  fragment f;
  for (int p = 0; p < 4; ++p) {
    bf16 const* const low = from + fragment_column(2 * p) * stride + fragment_row(2 * p);
    f.pairs[p] = pair_of(low[0], low[stride]);
  }
  return f;
}

void add_product(sum_fragment& sums, fragment const& a, fragment const& b, char const* file, int line) {
  product own{&sums, &a, &b};
  grid_detail::meet("product", &own, multiply, file, line);
}

}  // namespace ashlar::cuda
