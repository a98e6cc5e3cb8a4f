// Softmax cross-entropy of the next token.
#pragma once

#include "arithmetic.hpp"
#include "embedding.hpp"
#include "tensor.hpp"

#include <cmath>
#include <cstddef>
#include <span>

namespace gpt {

// Turns logits (rows x vocabulary) into probabilities, in place. Returns the mean of -log p(target), in
// nats.
template <class Scalar>
double cross_entropy(matrix<Scalar> const& logits, std::span<token const> targets) {
  double total = 0;
  for (int i = 0; i < logits.rows; ++i) {
    Scalar* const row = logits.row(i);
    Scalar const top = maximum<Scalar>(row, logits.cols);
    Scalar const logit = row[targets[static_cast<std::size_t>(i)]] - top;
    auto values = elements(row, static_cast<std::size_t>(logits.cols));
    values = (values - top).exp();
    Scalar const mass = sum<Scalar>(row, logits.cols);
    Scalar const inverse = 1 / mass;
    for (int j = 0; j < logits.cols; ++j) row[j] *= inverse;
    total += std::log(static_cast<double>(mass)) - static_cast<double>(logit);
  }
  return total / logits.rows;
}

// The gradient of scale x (the sum over the rows) with respect to the logits.
template <class Scalar>
void cross_entropy_backward(matrix<Scalar> const& probabilities, std::span<token const> targets,
                            Scalar scale, matrix<Scalar> const& gradient) {
  for (int i = 0; i < gradient.rows; ++i) {
    Scalar const* const probability = probabilities.row(i);
    Scalar* const row = gradient.row(i);
    for (int j = 0; j < gradient.cols; ++j) row[j] = probability[j] * scale;
    row[targets[static_cast<std::size_t>(i)]] -= scale;
  }
}

}  // namespace gpt
