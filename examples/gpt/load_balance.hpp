// The loss that spreads tokens over experts: E / (k T) sum over experts of (tokens sent there) * (mean
// probability), 1 if even. The tokens may be those of a micro-batch, of all ranks, or of the whole batch
// (Qiu et al., arXiv 2501.11873, section 3); the probabilities are always a micro-batch's own.
#pragma once

#include "tensor.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace gpt {

// The `chosen` experts with the largest logits of a token, the first of equal ones first.
template <class Scalar>
void choose_experts(Scalar const* logits, int experts, std::span<int> chosen) {
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    int best = -1;
    for (int e = 0; e < experts; ++e) {
      bool const taken = std::find(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(k), e)
                         != chosen.begin() + static_cast<std::ptrdiff_t>(k);
      if (!taken && (best < 0 || logits[best] < logits[e])) best = e;
    }
    chosen[k] = best;
  }
}

// One token's probabilities from its logits, which may be the same memory.
template <class Scalar>
void expert_probabilities(Scalar const* logits, int experts, Scalar* probabilities) {
  Scalar const most = *std::max_element(logits, logits + experts);
  Scalar total{};
  for (int e = 0; e < experts; ++e) total += probabilities[e] = std::exp(logits[e] - most);
  for (int e = 0; e < experts; ++e) probabilities[e] /= total;
}

// The number of tokens that went to each expert, and the number of all tokens.
struct expert_counts {
  std::span<double const> by_expert;
  double tokens = 0;
};

// The loss from a micro-batch's probabilities (tokens x experts).
template <class Scalar>
double load_balance_loss(matrix<Scalar> const& probabilities, expert_counts const& counts, int chosen) {
  double sum = 0;
  for (int t = 0; t < probabilities.rows; ++t)
    for (int e = 0; e < probabilities.cols; ++e)
      sum +=
          static_cast<double>(probabilities.row(t)[e]) * counts.by_expert[static_cast<std::size_t>(e)];
  return sum * probabilities.cols / (chosen * counts.tokens * probabilities.rows);
}

// Adds `weight` times the loss's gradient by one token's logits; `tokens` of the micro-batch.
template <class Scalar>
void add_load_balance_gradient(Scalar const* probabilities, int tokens, expert_counts const& counts,
                               int chosen, double weight, Scalar* gradient) {
  auto const experts = counts.by_expert.size();
  double const scale = weight * static_cast<double>(experts) / (chosen * counts.tokens * tokens);
  double mean = 0;
  for (std::size_t e = 0; e < experts; ++e)
    mean += static_cast<double>(probabilities[e]) * counts.by_expert[e];
  for (std::size_t e = 0; e < experts; ++e)
    gradient[e] += static_cast<Scalar>(scale * static_cast<double>(probabilities[e])
                                       * (counts.by_expert[e] - mean));
}

}  // namespace gpt
