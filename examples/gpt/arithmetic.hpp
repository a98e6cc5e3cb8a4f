// Products by Eigen, sums by loops: all of it gives the same bits every time.
#pragma once

#include "tensor.hpp"

#include <Eigen/Core>

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

namespace gpt {

namespace detail {

template <class Scalar, int Order>
using eigen_matrix = Eigen::Matrix<std::remove_const_t<Scalar>, Eigen::Dynamic, Eigen::Dynamic, Order>;

template <class Scalar, int Order>
using eigen_map =
    Eigen::Map<std::conditional_t<std::is_const_v<Scalar>, eigen_matrix<Scalar, Order> const,
                                  eigen_matrix<Scalar, Order>>,
               Eigen::Unaligned, Eigen::OuterStride<>>;

}  // namespace detail

// The matrix as Eigen sees it.
template <class Scalar>
auto plain(matrix<Scalar> const& m) {
  return detail::eigen_map<Scalar, Eigen::RowMajor>(m.data, m.rows, m.cols,
                                                    Eigen::OuterStride<>(m.stride));
}

// Its transpose: the same memory read by columns.
template <class Scalar>
auto transposed(matrix<Scalar> const& m) {
  return detail::eigen_map<Scalar, Eigen::ColMajor>(m.data, m.cols, m.rows,
                                                    Eigen::OuterStride<>(m.stride));
}

// `count` elements as an Eigen array, for vectorised exp, tanh and sqrt.
template <class Scalar>
auto elements(Scalar* data, std::size_t count) {
  using values = Eigen::Array<std::remove_const_t<Scalar>, Eigen::Dynamic, 1>;
  return Eigen::Map<std::conditional_t<std::is_const_v<Scalar>, values const, values>>(
      data, static_cast<Eigen::Index>(count));
}

namespace detail {

// The size of equal pieces, each at most `most`, rounded up to whole vectors where that is still at most
// `most`.
constexpr Eigen::Index piece(Eigen::Index size, Eigen::Index most) {
  if (size <= most) return size;
  Eigen::Index const pieces = (size + most - 1) / most;
  Eigen::Index const even = (size + pieces - 1) / pieces;
  return std::min(most, (even + 15) / 16 * 16);
}

}  // namespace detail

// Computes c += a b, where a and b are results of plain() or transposed(). Eigen packs its operands on
// the stack up to a limit and on the heap beyond; cut into tiles, a product of any size stays on the
// stack.
template <class Scalar, class Left, class Right>
void add_product(matrix<Scalar> const& c, Left const& a, Right const& b) {
  using index = Eigen::Index;
  constexpr index packed =
      128 * 1024 / static_cast<index>(sizeof(Scalar));  // elements of one packed operand
  index const depth = detail::piece(a.cols(), 256);
  index const most = std::max<index>(packed / std::max<index>(depth, 1), 16);
  index const height = detail::piece(c.rows, most);
  index const breadth = detail::piece(c.cols, most);
  auto target = plain(c);
  for (index i = 0; i < c.rows; i += height) {
    index const h = std::min<index>(height, c.rows - i);
    for (index j = 0; j < c.cols; j += breadth) {
      index const w = std::min<index>(breadth, c.cols - j);
      for (index k = 0; k < a.cols(); k += depth) {
        index const d = std::min<index>(depth, a.cols() - k);
        target.block(i, j, h, w).noalias() += a.block(i, k, h, d) * b.block(k, j, d, w);
      }
    }
  }
}

// Computes c = a b.
template <class Scalar, class Left, class Right>
void set_product(matrix<Scalar> const& c, Left const& a, Right const& b) {
  for (int i = 0; i < c.rows; ++i) std::fill_n(c.row(i), c.cols, Scalar{});
  add_product(c, a, b);
}

namespace detail {

// Folds term(i) for i in [0, count) in sixteen lanes, then the lanes pairwise: an order that does not
// depend on the machine, and one that vectorises without licence to reorder.
template <class Scalar, class Term, class Fold>
Scalar fold_lanes(int count, Scalar start, Term const& term, Fold const& fold) {
  constexpr int lanes = 16;
  std::array<Scalar, lanes> lane;
  lane.fill(start);
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (int j = 0; j < lanes; ++j) {
      auto& value = lane[static_cast<std::size_t>(j)];
      value = fold(value, term(i + j));
    }
  }
  for (int j = 0; i + j < count; ++j) {
    auto& value = lane[static_cast<std::size_t>(j)];
    value = fold(value, term(i + j));
  }
  for (std::size_t half = lanes / 2; half > 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) lane[j] = fold(lane[j], lane[j + half]);
  }
  return lane[0];
}

inline constexpr auto plus = [](auto a, auto b) { return a + b; };
inline constexpr auto larger = [](auto a, auto b) { return a < b ? b : a; };

}  // namespace detail

template <class Scalar>
Scalar sum(Scalar const* values, int count) {
  return detail::fold_lanes(
      count, Scalar{}, [=](int i) { return values[i]; }, detail::plus);
}

template <class Scalar>
Scalar dot(Scalar const* left, Scalar const* right, int count) {
  return detail::fold_lanes(
      count, Scalar{}, [=](int i) { return left[i] * right[i]; }, detail::plus);
}

// The largest of at least one value.
template <class Scalar>
Scalar maximum(Scalar const* values, int count) {
  return detail::fold_lanes(
      count, values[0], [=](int i) { return values[i]; }, detail::larger);
}

template <class Scalar>
void copy(std::type_identity_t<matrix<Scalar const>> const& from, matrix<Scalar> const& to) {
  for (int i = 0; i < to.rows; ++i) std::copy_n(from.row(i), to.cols, to.row(i));
}

// Adds the sum of the rows of `from` to `to` (one row).
template <class Scalar>
void add_rows(std::type_identity_t<matrix<Scalar const>> const& from, matrix<Scalar> const& to) {
  for (int i = 0; i < from.rows; ++i) {
    Scalar const* const source = from.row(i);
    for (int j = 0; j < to.cols; ++j) to.data[j] += source[j];
  }
}

}  // namespace gpt
