// Causal multi-head attention, between the linear layer that makes queries, keys and values and the one
// after it.
#pragma once

#include "arithmetic.hpp"
#include "config.hpp"
#include "tensor.hpp"

#include <algorithm>
#include <cmath>

namespace gpt {

namespace detail {

// Turns scores into weights in place: row i attends to columns 0 .. i, the others get 0.
template <class Scalar>
void causal_softmax(matrix<Scalar> const& scores, Scalar scale) {
  for (int i = 0; i < scores.rows; ++i) {
    Scalar* const row = scores.row(i);
    int const count = i + 1;
    // The length is whole vectors: a few more exponentials cost less than a scalar remainder.
    int const whole = std::min((count + 15) / 16 * 16, scores.cols);
    Scalar const top = maximum<Scalar>(row, count);
    std::fill(row + count, row + whole, top);
    auto values = elements(row, static_cast<std::size_t>(whole));
    values = ((values - top) * scale).exp();
    Scalar const inverse = 1 / sum<Scalar>(row, count);
    for (int j = 0; j < count; ++j) row[j] *= inverse;
    std::fill(row + count, row + scores.cols, Scalar{});
  }
}

// Turns the gradient of the weights into that of the scores, in place.
template <class Scalar>
void causal_softmax_backward(matrix<Scalar const> const& weights, matrix<Scalar> const& gradient,
                             Scalar scale) {
  for (int i = 0; i < gradient.rows; ++i) {
    Scalar const* const weight = weights.row(i);
    Scalar* const row = gradient.row(i);
    int const count = i + 1;
    Scalar const mean = dot<Scalar>(weight, row, count);
    for (int j = 0; j < count; ++j) row[j] = weight[j] * (row[j] - mean) * scale;
    std::fill(row + count, row + gradient.cols, Scalar{});
  }
}

// Queries, keys, values: the three thirds of the columns; each head has its share of every third.
template <class Scalar>
matrix<Scalar> head_of(matrix<Scalar> const& qkv, config const& shape, int part, int sequence,
                       int head) {
  return qkv.block(sequence * shape.context, part * shape.width + head * shape.head_width(),
                   shape.context, shape.head_width());
}

}  // namespace detail

// qkv: rows x 3 width. weights: (sequences heads context) x context, kept for the backward pass.
// merged: rows x width, the heads side by side.
template <class Scalar>
void attend(config const& shape, matrix<Scalar> const& qkv, matrix<Scalar> const& weights,
            matrix<Scalar> const& merged) {
  Scalar const scale = 1 / std::sqrt(static_cast<Scalar>(shape.head_width()));
  for (int s = 0; s < shape.sequences; ++s) {
    for (int h = 0; h < shape.heads; ++h) {
      auto const weight =
          weights.block((s * shape.heads + h) * shape.context, 0, shape.context, shape.context);
      set_product(weight, plain(detail::head_of(qkv, shape, 0, s, h)),
                  transposed(detail::head_of(qkv, shape, 1, s, h)));
      detail::causal_softmax(weight, scale);
      set_product(detail::head_of(merged, shape, 0, s, h), plain(weight),
                  plain(detail::head_of(qkv, shape, 2, s, h)));
    }
  }
}

// Computes the gradient of qkv from that of `merged`. `scratch` is context x context.
template <class Scalar>
void attend_backward(config const& shape, matrix<Scalar> const& qkv, matrix<Scalar> const& weights,
                     matrix<Scalar> const& dmerged, matrix<Scalar> const& dqkv,
                     matrix<Scalar> const& scratch) {
  Scalar const scale = 1 / std::sqrt(static_cast<Scalar>(shape.head_width()));
  for (int s = 0; s < shape.sequences; ++s) {
    for (int h = 0; h < shape.heads; ++h) {
      auto const weight =
          weights.block((s * shape.heads + h) * shape.context, 0, shape.context, shape.context);
      auto const up = detail::head_of(dmerged, shape, 0, s, h);
      set_product(detail::head_of(dqkv, shape, 2, s, h), transposed(weight), plain(up));
      set_product(scratch, plain(up), transposed(detail::head_of(qkv, shape, 2, s, h)));
      detail::causal_softmax_backward<Scalar>(weight, scratch, scale);
      set_product(detail::head_of(dqkv, shape, 0, s, h), plain(scratch),
                  plain(detail::head_of(qkv, shape, 1, s, h)));
      set_product(detail::head_of(dqkv, shape, 1, s, h), transposed(scratch),
                  plain(detail::head_of(qkv, shape, 0, s, h)));
    }
  }
}

}  // namespace gpt
