// The numbers of a step that all processes know.
#pragma once

#include "train/train_signals.hpp"
#include "train/train_team.hpp"

#include <gpt/exact_sum.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

namespace tool {

struct step_numbers {
  int signal = 0;                                // that came to one of them, or 0
  double loss = 0;                               // the mean over micro-batches, then ranks
  double norm = 0;                               // of the gradient
  std::vector<std::vector<double>> losses = {};  // by rank and micro-batch

  bool is_finite() const { return std::isfinite(loss) && std::isfinite(norm); }
};

// The norm of the last step's gradient.
template <class Scalar>
double norm_of(team<Scalar>& all) {
  std::vector<gpt::exact_sum::words> parts(static_cast<std::size_t>(all.processes()));
  parts[static_cast<std::size_t>(all.process())] = all.squares().as_words();
  all.unite(parts);
  gpt::exact_sum sum;
  for (auto const& one : parts) sum.add(gpt::exact_sum(one));
  return std::sqrt(sum.value());
}

// Call it after a step, or before the first.
template <class Scalar>
step_numbers numbers_of(team<Scalar>& all, training const& t) {
  auto const micro_batches = static_cast<std::size_t>(t.shape.micro_batches);
  std::vector<double> numbers{interrupted == SIGINT ? 1.0 : 0.0, interrupted == SIGTERM ? 1.0 : 0.0};
  for (int rank = 0; rank < t.shape.data_ranks; ++rank)
    for (double const loss : all.losses(rank)) numbers.push_back(loss);
  all.unite(numbers);

  step_numbers n{.signal = numbers[0] != 0 ? SIGINT : numbers[1] != 0 ? SIGTERM : 0};
  auto at = numbers.begin() + 2;
  for (int rank = 0; rank < t.shape.data_ranks; ++rank) {
    n.losses.emplace_back(at, at + static_cast<std::ptrdiff_t>(micro_batches));
    at += static_cast<std::ptrdiff_t>(micro_batches);
    n.loss += gpt::mean_loss(t.shape, n.losses.back());
  }
  n.loss /= t.shape.data_ranks;
  n.norm = norm_of(all);
  return n;
}

}  // namespace tool
