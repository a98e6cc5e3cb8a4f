// Token and position embedding: row i of the output is the sum of a learned row for the token and one
// for its place.
#pragma once

#include "config.hpp"
#include "linear.hpp"
#include "tensor.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace gpt {

using token = std::uint8_t;

template <class Scalar>
struct embedding {
  using value = std::remove_const_t<Scalar>;

  matrix<Scalar> tokens;     // vocabulary x width
  matrix<Scalar> positions;  // context x width

  embedding() = default;
  // `tied`: the memory of the tokens, if the head uses them, too.
  embedding(carver<Scalar>& from, config const& shape, matrix<Scalar> const& tied)
      : tokens(shape.tied ? tied : from.take(vocabulary, shape.width)),
        positions(from.take(shape.context, shape.width)) {}

  void forward(std::span<token const> input, matrix<value> const& y) const {
    for (int i = 0; i < y.rows; ++i) {
      value const* const what = tokens.row(input[static_cast<std::size_t>(i)]);
      value const* const where = positions.row(i % positions.rows);
      value* const out = y.row(i);
      for (int j = 0; j < y.cols; ++j) out[j] = what[j] + where[j];
    }
  }

  // On the gradient. Row by row: a token that occurs twice gets its second part after its first, always.
  void backward_weight(std::span<token const> input, matrix<value const> const& dy) const {
    for (int i = 0; i < dy.rows; ++i) {
      value* const what = tokens.row(input[static_cast<std::size_t>(i)]);
      value* const where = positions.row(i % positions.rows);
      value const* const up = dy.row(i);
      for (int j = 0; j < dy.cols; ++j) what[j] += up[j];
      for (int j = 0; j < dy.cols; ++j) where[j] += up[j];
    }
  }

  // Calls f(tensor_description, matrix) for each tensor that is its own.
  template <class F>
  void visit(std::string const& name, config const& shape, F&& f) const {
    if (!shape.tied) f(tensor_description{name + ".tokens", 0, 0.1}, tokens);
    f(tensor_description{name + ".positions", 0, 0.1}, positions);
  }
};

}  // namespace gpt
