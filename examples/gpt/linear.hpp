// A linear layer: y = x W + b.
#pragma once

#include "arithmetic.hpp"
#include "tensor.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

namespace gpt {

// The entries of a tensor that are here, all of the same size: [first, first + count) of `of`.
struct tensor_part {
  int first = 0, count = 1, of = 1;

  constexpr bool is_whole() const { return count == of; }
  friend constexpr bool operator==(tensor_part, tensor_part) = default;
};

// The name of a parameter tensor and the normal distribution it starts from.
struct tensor_description {
  std::string name;
  double mean = 0;
  double deviation = 0;
  tensor_part part = {};
};

// The parameters of a layer (Scalar const) or their gradient (Scalar), in the same layout.
// x is rows x inputs, y is rows x outputs, the weight is inputs x outputs.
template <class Scalar>
struct linear {
  using value = std::remove_const_t<Scalar>;

  matrix<Scalar> weight;
  matrix<Scalar> bias;

  linear() = default;
  linear(carver<Scalar>& from, int inputs, int outputs)
      : weight(from.take(inputs, outputs)), bias(from.take(1, outputs)) {}

  void forward(matrix<value const> const& x, matrix<value> const& y) const {
    for (int i = 0; i < y.rows; ++i) std::copy_n(bias.data, y.cols, y.row(i));
    add_product(y, plain(x), plain(weight));
  }

  // Computes y += x W + b.
  void join(matrix<value const> const& x, matrix<value> const& y) const {
    for (int i = 0; i < y.rows; ++i) {
      value* const row = y.row(i);
      for (int j = 0; j < y.cols; ++j) row[j] += bias.data[j];
    }
    add_product(y, plain(x), plain(weight));
  }

  // Computes dx = dy W'.
  void backward_input(matrix<value const> const& dy, matrix<value> const& dx) const {
    set_product(dx, plain(dy), transposed(weight));
  }

  // Call it on the gradient: dW += x' dy, db += sum of the rows of dy.
  void backward_weight(matrix<value const> const& x, matrix<value const> const& dy) const {
    add_product(weight, transposed(x), plain(dy));
    add_rows(dy, bias);
  }

  // Calls f(tensor_description, matrix) for each tensor. The gain scales the initial weights, which keep
  // the variance of the input when it is 1.
  template <class F>
  void visit(std::string const& name, double gain, F&& f) const {
    f(tensor_description{name + ".weight", 0, gain / std::sqrt(weight.rows)}, weight);
    f(tensor_description{name + ".bias", 0, 0}, bias);
  }
};

}  // namespace gpt
