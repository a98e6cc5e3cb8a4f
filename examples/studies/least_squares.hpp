// Fits the constants of a time model to measured times. The model is linear in the constants.
#pragma once

#include <cstddef>
#include <vector>

namespace ashlar {

// The weights, none negative, with the least sum over the rows of (weights . row / measured - 1)^2:
// relative errors count alike. Cyclic coordinate descent (Lawson and Hanson's problem; convex, so it
// ends at the best), `rounds` rounds of O(rows x weights). Rows are of equal length, measured times
// positive.
inline std::vector<double> fit_nonnegative(std::vector<std::vector<double>> const& rows,
                                           std::vector<double> const& measured, int rounds = 3000) {
  std::size_t const width = rows.empty() ? 0 : rows[0].size();
  std::vector<double> weights(width, 0.0), rest(rows.size(), 1.0), squares(width, 0.0);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < width; ++j) {
      double const a = rows[i][j] / measured[i];
      squares[j] += a * a;
    }
  for (int round = 0; round < rounds; ++round)
    for (std::size_t j = 0; j < width; ++j) {
      if (!(squares[j] > 0)) continue;
      double step = 0;
      for (std::size_t i = 0; i < rows.size(); ++i) step += rows[i][j] / measured[i] * rest[i];
      step /= squares[j];
      if (weights[j] + step < 0) step = -weights[j];
      weights[j] += step;
      for (std::size_t i = 0; i < rows.size(); ++i) rest[i] -= rows[i][j] / measured[i] * step;
    }
  return weights;
}

inline double weighted_sum(std::vector<double> const& weights, std::vector<double> const& row) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) sum += weights[i] * row[i];
  return sum;
}

}  // namespace ashlar
