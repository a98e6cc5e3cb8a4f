#include "cublaslt_product.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

namespace cublaslt_substitute {
namespace {

double load(std::byte const* from, std::uint32_t type) {
  if (type == CUDA_R_64F) {
    double x;
    std::memcpy(&x, from, sizeof x);
    return x;
  }
  if (type == CUDA_R_32F) {
    float x;
    std::memcpy(&x, from, sizeof x);
    return x;
  }
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

void store(std::byte* to, std::uint32_t type, double value) {
  if (type == CUDA_R_64F) {
    std::memcpy(to, &value, sizeof value);
    return;
  }
  auto const x = static_cast<float>(value);
  auto bits = std::bit_cast<std::uint32_t>(x);
  if (type == CUDA_R_32F) {
    std::memcpy(to, &bits, sizeof bits);
    return;
  }
  // to nearest, ties to even
  bits = std::isnan(x) ? 0x7fff0000U : bits + 0x7fffU + ((bits >> 16U) & 1U);
  auto const upper = static_cast<std::uint16_t>(bits >> 16U);
  std::memcpy(to, &upper, sizeof upper);
}

// The place of the elements of one matrix of a batch.
struct matrix {
  std::byte* data;
  std::uint32_t type;
  std::size_t size, to_next_row, to_next_column;  // in bytes

  matrix(void const* all, cublasLtMatrixLayoutOpaque_t const& l, int number, bool transposed = false)
      : type(l.type), size(size_of(l.type)), to_next_row(size), to_next_column(size) {
    auto const offset =
        static_cast<std::size_t>(l.batch_offset) * static_cast<std::size_t>(number) * size;
    data = static_cast<std::byte*>(const_cast<void*>(all)) + offset;
    (l.order == CUBLASLT_ORDER_COL ? to_next_column : to_next_row) =
        static_cast<std::size_t>(l.ld) * size;
    if (transposed) std::swap(to_next_row, to_next_column);
  }
  std::byte* at(std::size_t row, std::size_t column) const {
    return data + row * to_next_row + column * to_next_column;
  }
};

constexpr std::size_t tile_rows = 4, tile_columns = 16;

// Strips of Width rows (of a) or columns (of b), each along the inner dimension; zeros fill them up.
template <class Real, std::size_t Width>
std::vector<Real> packed(std::byte const* first, std::uint32_t type, std::size_t count, std::size_t step,
                         std::size_t depth, std::size_t deeper) {
  std::vector<Real> all((count + Width - 1) / Width * Width * depth);
  for (std::size_t i = 0; i < count; ++i) {
    Real* const strip = all.data() + i / Width * Width * depth + i % Width;
    for (std::size_t k = 0; k < depth; ++k)
      strip[k * Width] = static_cast<Real>(load(first + i * step + k * deeper, type));
  }
  return all;
}

template <class Real>
void tile(Real const* a, Real const* b, std::size_t depth, Real (&sums)[tile_rows][tile_columns]) {
  for (std::size_t k = 0; k < depth; ++k)
    for (std::size_t i = 0; i < tile_rows; ++i)
      for (std::size_t j = 0; j < tile_columns; ++j)
        sums[i][j] += a[k * tile_rows + i] * b[k * tile_columns + j];
}

template <class Real>
Real activated(Real x, std::uint32_t epilogue) {
  if ((epilogue & CUBLASLT_EPILOGUE_RELU) != 0) return x < 0 ? Real{0} : x;
  if ((epilogue & CUBLASLT_EPILOGUE_GELU) == 0) return x;
  // by the hyperbolic tangent, as the library does
  Real const inner =
      static_cast<Real>(0.7978845608028654) * (x + static_cast<Real>(0.044715) * x * x * x);
  return static_cast<Real>(0.5) * x * (1 + std::tanh(inner));
}

template <class Real>
void finish(product const& p, int number, std::size_t row, std::size_t column,
            Real (&sums)[tile_rows][tile_columns]) {
  matrix const c(p.c, p.c_layout, number), d(p.d, p.d_layout, number);
  std::uint32_t const bias_type =
      p.what.bias_type < 0 ? d.type : static_cast<std::uint32_t>(p.what.bias_type);
  std::size_t const rows = std::min<std::size_t>(tile_rows, p.d_layout.rows - row);
  std::size_t const columns = std::min<std::size_t>(tile_columns, p.d_layout.cols - column);
  auto const alpha = static_cast<Real>(p.alpha), beta = static_cast<Real>(p.beta);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      Real x = alpha * sums[i][j];
      if (beta != 0) x += beta * static_cast<Real>(load(c.at(row + i, column + j), c.type));
      if ((p.what.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0)
        x += static_cast<Real>(load(
            static_cast<std::byte const*>(p.what.bias) + (row + i) * size_of(bias_type), bias_type));
      store(d.at(row + i, column + j), d.type, static_cast<double>(activated(x, p.what.epilogue)));
    }
}

template <class Real>
void multiply_one(product const& p, int number) {
  matrix const a(p.a, p.a_layout, number, p.what.transposes_a != CUBLAS_OP_N);
  matrix const b(p.b, p.b_layout, number, p.what.transposes_b != CUBLAS_OP_N);
  std::size_t const rows = p.d_layout.rows, columns = p.d_layout.cols;
  std::size_t const depth = p.what.transposes_a != CUBLAS_OP_N ? p.a_layout.rows : p.a_layout.cols;
  auto const strips_a =
      packed<Real, tile_rows>(a.data, a.type, rows, a.to_next_row, depth, a.to_next_column);
  auto const strips_b =
      packed<Real, tile_columns>(b.data, b.type, columns, b.to_next_column, depth, b.to_next_row);
  for (std::size_t i = 0; i < rows; i += tile_rows)
    for (std::size_t j = 0; j < columns; j += tile_columns) {
      Real sums[tile_rows][tile_columns] = {};
      tile(strips_a.data() + i * depth, strips_b.data() + j * depth, depth, sums);
      finish(p, number, i, j, sums);
    }
}

}  // namespace

std::size_t size_of(std::uint32_t type) {
  return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : type == CUDA_R_16BF ? 2 : 0;
}

void multiply(product const& p) {
  for (int n = 0; n < p.d_layout.batch; ++n)
    if (p.what.compute == CUBLAS_COMPUTE_64F || p.what.compute == CUBLAS_COMPUTE_64F_PEDANTIC)
      multiply_one<double>(p, n);
    else
      multiply_one<float>(p, n);
}

}  // namespace cublaslt_substitute
