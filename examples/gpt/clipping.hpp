// Clips the gradient of each micro-batch: by the least norm of all of them (Wang, arXiv 2408.16204,
// algorithm 1), or by a threshold.
#pragma once

#include "arithmetic.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

namespace gpt {

// The factor for a micro-batch's gradient of that norm before it is added. Without a threshold the sum
// has to be multiplied by the least norm in the end.
inline double clip_factor(double norm, std::optional<double> threshold) {
  if (threshold) return norm > *threshold ? *threshold / norm : 1;
  return norm > 0 ? 1 / norm : 0;
}

// The least of the norms so far. Zeros mean that it has seen none.
struct least_norm {
  double seen = 0;
  double norm = 0;

  void add(double next) {
    norm = seen == 0 ? next : std::min(norm, next);
    seen += 1;
  }
};

// Moves the gradient of a micro-batch out of the accumulator; returns its squared norm.
template <class Scalar>
double take_gradient(std::span<Scalar> accumulator, std::span<Scalar> copy) {
  std::copy_n(accumulator.data(), accumulator.size(), copy.data());
  std::fill_n(accumulator.data(), accumulator.size(), Scalar{});
  return static_cast<double>(dot<Scalar>(copy.data(), copy.data(), static_cast<int>(copy.size())));
}

template <class Scalar>
void add_scaled(std::span<Scalar const> gradient, double factor, std::span<Scalar> sum) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<Scalar>(factor) * gradient[i];
}

}  // namespace gpt
