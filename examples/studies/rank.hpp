// Measures how well predicted times order measured ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace systems {

// Returns 1 for the least; equal values share the mean of their ranks.
inline std::vector<double> ranks_of(std::vector<double> const& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0, end = 0; i < order.size(); i = end) {
    while (end < order.size() && values[order[end]] <= values[order[i]]) ++end;
    for (std::size_t j = i; j < end; ++j) ranks[order[j]] = static_cast<double>(i + end + 1) / 2;
  }
  return ranks;
}

// Spearman's correlation of ranks; not a number where all of one are equal.
inline double rank_correlation(std::vector<double> const& a, std::vector<double> const& b) {
  std::vector<double> const x = ranks_of(a), y = ranks_of(b);
  double const mean = (static_cast<double>(a.size()) + 1) / 2;
  double both = 0, first = 0, second = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    both += (x[i] - mean) * (y[i] - mean);
    first += (x[i] - mean) * (x[i] - mean);
    second += (y[i] - mean) * (y[i] - mean);
  }
  return both / std::sqrt(first * second);
}

}  // namespace systems
