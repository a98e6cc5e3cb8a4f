// The output head, or the part of it for some of the tokens: y = x W' + b, a row of W for each token, as
// in the embedding.
#pragma once

#include "arithmetic.hpp"
#include "config.hpp"
#include "linear.hpp"
#include "tensor.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

namespace gpt {

// The deviation of the head's initial weights; small, so that training starts near even odds.
inline double head_deviation(config const& shape) { return 0.2 / std::sqrt(shape.width); }

// Matrices that stages share where the embedding and the head are tied.
template <class Scalar>
struct tied_ends {
  matrix<Scalar> tokens = {};  // vocabulary x width: the embedding's tokens, and the head's weight
  matrix<Scalar> bias = {};    // the head's, of a model whose prediction layer uses it, too; else none

  static tied_ends carved(carver<Scalar>& from, config const& shape) {
    tied_ends both{from.take(vocabulary, shape.width)};
    if (shape.predicts) both.bias = from.take(1, vocabulary);
    return both;
  }

  // Calls f(tensor_description, matrix) for each tensor.
  template <class F>
  void visit(config const& shape, F&& f) const {
    f(tensor_description{"embedding.tokens", 0, head_deviation(shape)}, tokens);
    if (bias.rows > 0) f(tensor_description{"head.bias", 0, 0}, bias);
  }
};

// The parameters (Scalar const) or their gradient (Scalar), in the same layout.
template <class Scalar>
struct head {
  using value = std::remove_const_t<Scalar>;

  token_range tokens;
  matrix<Scalar> weight;  // tokens x width; tied: the embedding's tokens
  matrix<Scalar> bias;

  head() = default;
  head(carver<Scalar>& from, config const& shape, tied_ends<Scalar> const& tied, token_range of = {})
      : tokens(of),
        weight(shape.tied ? tied.tokens : from.take(of.count, shape.width)),
        bias(shape.predicts ? tied.bias : from.take(1, of.count)) {}

  void forward(matrix<value const> const& x, matrix<value> const& y) const {
    for (int i = 0; i < y.rows; ++i) std::copy_n(bias.data, y.cols, y.row(i));
    add_product(y, plain(x), transposed(weight));
  }

  // Computes dx = dy W.
  void backward_input(matrix<value const> const& dy, matrix<value> const& dx) const {
    set_product(dx, plain(dy), plain(weight));
  }

  // Call it on the gradient: dW += dy' x, db += sum of the rows of dy.
  void backward_weight(matrix<value const> const& x, matrix<value const> const& dy) const {
    add_product(weight, transposed(dy), plain(x));
    add_rows(dy, bias);
  }

  // Calls f(tensor_description, matrix) for each tensor that is its own.
  template <class F>
  void visit(std::string const& name, config const& shape, F&& f) const {
    tensor_part const part{tokens.first, tokens.count, vocabulary};
    if (!shape.tied) f(tensor_description{name + ".weight", 0, head_deviation(shape), part}, weight);
    if (!shape.predicts) f(tensor_description{name + ".bias", 0, 0, part}, bias);
  }
};

}  // namespace gpt
