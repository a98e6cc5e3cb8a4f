// The optimizer.
#pragma once

#include "arithmetic.hpp"

#include <cmath>
#include <cstddef>
#include <span>

namespace gpt {

struct adam_options {
  double rate = 3e-3;  // learning rate
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-8;
  double clip = 1.0;  // largest norm of the whole model's gradient; 0: no clipping

  // The factor that scales a gradient of that norm to at most `clip`.
  double scale_for(double norm) const { return clip > 0 && norm > clip ? clip / norm : 1; }
};

// Makes one step (the `step`-th, from 1) on weights with the gradient times `scale`. All spans have the
// same size and are aligned; the moments start at zero.
template <class Scalar>
void adam_step(adam_options const& options, int step, double scale, std::span<Scalar> weights,
               std::span<Scalar const> gradient, std::span<Scalar> first, std::span<Scalar> second) {
  auto const b1 = static_cast<Scalar>(options.beta1);
  auto const b2 = static_cast<Scalar>(options.beta2);
  // The moments start at zero and are too small by these factors.
  double const warm1 = 1 - std::pow(options.beta1, step);
  double const warm2 = 1 - std::pow(options.beta2, step);
  auto const rate = static_cast<Scalar>(options.rate / warm1 * std::sqrt(warm2));
  auto const epsilon = static_cast<Scalar>(options.epsilon * std::sqrt(warm2));
  auto const factor = static_cast<Scalar>(scale);
  auto w = elements(weights.data(), weights.size());
  auto const g = elements(gradient.data(), weights.size());
  auto m = elements(first.data(), weights.size());
  auto v = elements(second.data(), weights.size());
  m = b1 * m + ((1 - b1) * factor) * g;
  v = b2 * v + (1 - b2) * (g * factor).square();
  w -= rate * m / (v.sqrt() + epsilon);
}

}  // namespace gpt
