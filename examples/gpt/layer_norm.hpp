// Layer normalisation: it brings every row to mean 0 and variance 1, then applies a gain and a bias per
// channel.
#pragma once

#include "arithmetic.hpp"
#include "linear.hpp"
#include "tensor.hpp"

#include <cmath>
#include <string>

namespace gpt {

// Matrices that the backward pass needs of the forward pass.
template <class Scalar>
struct layer_norm_stash {
  matrix<Scalar> standard;  // rows x width: the rows before gain and bias
  matrix<Scalar> inverse;   // 1 x rows: 1 / standard deviation of each row
  matrix<Scalar> output;    // rows x width: what the next layer's weight gradient multiplies

  layer_norm_stash() = default;
  layer_norm_stash(carver<Scalar>& from, int rows, int width)
      : standard(from.take(rows, width)), inverse(from.take(1, rows)), output(from.take(rows, width)) {}
};

template <class Scalar>
struct layer_norm {
  using value = std::remove_const_t<Scalar>;

  matrix<Scalar> gain;
  matrix<Scalar> bias;

  layer_norm() = default;
  layer_norm(carver<Scalar>& from, int width) : gain(from.take(1, width)), bias(from.take(1, width)) {}

  void forward(matrix<value const> const& x, layer_norm_stash<value> const& stash) const {
    constexpr value epsilon = value(1e-5);  // keeps a constant row finite
    int const width = x.cols;
    for (int i = 0; i < x.rows; ++i) {
      value const* const in = x.row(i);
      value* const standard = stash.standard.row(i);
      value* const out = stash.output.row(i);
      value const mean = sum(in, width) / value(width);
      for (int j = 0; j < width; ++j) standard[j] = in[j] - mean;
      value const inverse =
          1 / std::sqrt(dot<value>(standard, standard, width) / value(width) + epsilon);
      stash.inverse.data[i] = inverse;
      for (int j = 0; j < width; ++j) {
        standard[j] *= inverse;
        out[j] = standard[j] * gain.data[j] + bias.data[j];
      }
    }
  }

  // Adds the gradient of the input to `stream`. The row is orthogonal to 1 and of fixed length for any
  // input, so the parts of dy along 1 and along the row itself go. `scratch` holds one row.
  void backward_input(layer_norm_stash<value> const& stash, matrix<value const> const& dy,
                      matrix<value> const& stream, value* scratch) const {
    int const width = dy.cols;
    for (int i = 0; i < dy.rows; ++i) {
      value const* const up = dy.row(i);
      value const* const standard = stash.standard.row(i);
      value* const down = stream.row(i);
      for (int j = 0; j < width; ++j) scratch[j] = up[j] * gain.data[j];
      value const along_one = sum<value>(scratch, width) / value(width);
      value const along_row = dot<value>(scratch, standard, width) / value(width);
      value const inverse = stash.inverse.data[i];
      for (int j = 0; j < width; ++j)
        down[j] += (scratch[j] - along_one - standard[j] * along_row) * inverse;
    }
  }

  // Call it on the gradient.
  void backward_weight(layer_norm_stash<value> const& stash, matrix<value const> const& dy) const {
    for (int i = 0; i < dy.rows; ++i) {
      value const* const up = dy.row(i);
      value const* const standard = stash.standard.row(i);
      for (int j = 0; j < dy.cols; ++j) gain.data[j] += up[j] * standard[j];
    }
    add_rows(dy, bias);
  }

  template <class F>
  void visit(std::string const& name, F&& f) const {
    f(tensor_description{name + ".gain", 1, 0}, gain);
    f(tensor_description{name + ".bias", 0, 0}, bias);
  }
};

}  // namespace gpt
