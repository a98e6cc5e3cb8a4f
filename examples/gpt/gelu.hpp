// The activation of the MLP: GELU in its tanh form.
#pragma once

#include "arithmetic.hpp"
#include "tensor.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

namespace gpt {

// Turns x into gelu(x) in place, and computes its slope there. With the slope kept, the backward pass is
// one multiplication and x itself is not needed again.
template <class Scalar>
void gelu(matrix<Scalar> const& x, matrix<Scalar> const& slope) {
  constexpr Scalar a = Scalar(0.7978845608028654);  // sqrt(2 / pi)
  constexpr Scalar b = Scalar(0.044715);
  constexpr std::size_t tile = 512;  // stays in the first-level cache between the loops
  for (std::size_t at = 0; at < x.size(); at += tile) {
    std::size_t const count = std::min(tile, x.size() - at);
    Scalar* const value = x.data + at;
    Scalar* const derivative = slope.data + at;
    alignas(alignment) std::array<Scalar, tile> t;
    for (std::size_t i = 0; i < count; ++i) t[i] = a * value[i] * (1 + b * value[i] * value[i]);
    auto bent = elements(t.data(), count);
    bent = bent.tanh();
    for (std::size_t i = 0; i < count; ++i) {
      Scalar const v = value[i];
      Scalar const inner = a * (1 + 3 * b * v * v);
      derivative[i] = Scalar(0.5) * (1 + t[i] + v * (1 - t[i] * t[i]) * inner);
      value[i] = Scalar(0.5) * v * (1 + t[i]);
    }
  }
}

// Computes gradient *= slope.
template <class Scalar>
void gelu_backward(std::type_identity_t<matrix<Scalar const>> const& slope,
                   matrix<Scalar> const& gradient) {
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient.data[i] *= slope.data[i];
}

}  // namespace gpt
