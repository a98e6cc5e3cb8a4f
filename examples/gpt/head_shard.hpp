// The head and the loss where the vocabulary is split over several devices. Yeung, Qi, Lin, Wan:
// Balancing Pipeline Parallelism with Vocabulary Parallelism (2024), algorithms 1 and 2.
//
// A shard tells the others three numbers for each token. All sums over shards are in the order of the
// shards, so each of them comes to the same bits.
#pragma once

#include "arithmetic.hpp"
#include "config.hpp"
#include "embedding.hpp"
#include "head.hpp"
#include "tensor.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace gpt {

// Numbers that a shard tells all others, each 1 x rows.
template <class Scalar>
struct shard_statistics {
  matrix<Scalar> top;     // the largest logit of the shard
  matrix<Scalar> mass;    // the sum of exp(logit - top)
  matrix<Scalar> target;  // the logit of the target, if it is one of the shard's; else 0

  shard_statistics(carver<Scalar>& from, stage_shape const& shape)
      : top(from.take(1, shape.model.rows())),
        mass(from.take(1, shape.model.rows())),
        target(from.take(1, shape.model.rows())) {}
};

// The gradient of the input as a shard knows it before the others are heard.
template <class Scalar>
struct early_gradient {
  matrix<Scalar> top, mass;  // as in the statistics
  matrix<Scalar> attracted;  // rows x width: the sum of exp(logit - top) W over the shard's tokens
  matrix<Scalar> target;     // rows x width: W of the target; zeros if it is not one of the shard's

  early_gradient(carver<Scalar>& from, stage_shape const& shape)
      : top(from.take(1, shape.model.rows())),
        mass(from.take(1, shape.model.rows())),
        attracted(from.take(shape.model.rows(), shape.model.width)),
        target(from.take(shape.model.rows(), shape.model.width)) {}
};

// Matrices that backward_input leaves for backward_weight.
template <class Scalar>
struct shard_gradients {
  matrix<Scalar> logits;  // rows x tokens of the shard

  shard_gradients(carver<Scalar>& from, stage_shape const& shape)
      : logits(from.take(shape.model.rows(), shape.head_tokens().count)) {}
};

// Matrices that forward keeps, then the working memory of a fused backward.
template <class Scalar>
struct shard_stash {
  matrix<Scalar> input;         // rows x width
  matrix<Scalar> exponentials;  // rows x tokens of the shard: exp(logit - top)
  shard_gradients<Scalar> gradients;

  shard_stash(carver<Scalar>& from, stage_shape const& shape)
      : input(from.take(shape.model.rows(), shape.model.width)),
        exponentials(from.take(shape.model.rows(), shape.head_tokens().count)),
        gradients(from, shape) {}
};

// A softmax over all shards at one row.
template <class Scalar>
struct row_softmax {
  Scalar top = 0;   // the largest logit
  Scalar mass = 0;  // the sum of exp(logit - top)

  // Requires that statistics(shard) has `top` and `mass`.
  template <class Statistics>
  row_softmax(int shards, int row, Statistics const& statistics) {
    top = statistics(0).top.data[row];
    for (int i = 1; i < shards; ++i) top = std::max(top, statistics(i).top.data[row]);
    for (int i = 0; i < shards; ++i)
      mass += statistics(i).mass.data[row] * std::exp(statistics(i).top.data[row] - top);
  }

  // The factor that makes exp(logit - top_of_shard) the probability.
  Scalar factor(Scalar top_of_shard) const { return std::exp(top_of_shard - top) / mass; }
};

// Statistics and early gradient, each where there is room for it: a recompute has none, and only
// forwards that give the gradient have the latter.
template <class Scalar>
void shard_forward(stage_shape const& shape, head<Scalar const> const& weights,
                   shard_stash<Scalar> const& stash, std::span<token const> targets, Scalar const* input,
                   Scalar* statistics, Scalar* gradient) {
  std::copy_n(input, stash.input.size(), stash.input.data);
  weights.forward(stash.input, stash.exponentials);
  carver<Scalar> from(statistics);
  shard_statistics<Scalar> const told(from, shape);
  token_range const own = shape.head_tokens();
  for (int i = 0; i < stash.exponentials.rows; ++i) {
    Scalar* const row = stash.exponentials.row(i);
    Scalar const top = maximum<Scalar>(row, own.count);
    int const wanted = targets[static_cast<std::size_t>(i)];
    Scalar const target = own.has(wanted) ? row[wanted - own.first] : Scalar{};
    auto values = elements(row, static_cast<std::size_t>(own.count));
    values = (values - top).exp();
    if (statistics == nullptr) continue;
    told.top.data[i] = top;
    told.mass.data[i] = sum<Scalar>(row, own.count);
    told.target.data[i] = target;
  }
  if (gradient == nullptr) return;
  carver<Scalar> into(gradient);
  early_gradient<Scalar> const early(into, shape);
  copy<Scalar>(told.top, early.top);
  copy<Scalar>(told.mass, early.mass);
  set_product(early.attracted, plain(stash.exponentials), plain(weights.weight));
  for (int i = 0; i < early.target.rows; ++i) {
    int const wanted = targets[static_cast<std::size_t>(i)];
    if (own.has(wanted))
      std::copy_n(weights.weight.row(wanted - own.first), early.target.cols, early.target.row(i));
    else
      std::fill_n(early.target.row(i), early.target.cols, Scalar{});
  }
}

// Computes `scale` times the gradient of the logits. statistics(shard) is what each shard told, this one
// included. Returns the mean of -log p(target), in nats.
template <class Scalar, class Statistics>
double shard_cross_entropy(stage_shape const& shape, shard_stash<Scalar> const& stash,
                           Statistics const& statistics, std::span<token const> targets, Scalar scale,
                           matrix<Scalar> const& gradient) {
  token_range const own = shape.head_tokens();
  double total = 0;
  for (int i = 0; i < gradient.rows; ++i) {
    row_softmax<Scalar> const all(shape.model.shards, i, statistics);
    Scalar const factor = all.factor(statistics(shape.shard).top.data[i]) * scale;
    Scalar const* const exponential = stash.exponentials.row(i);
    Scalar* const row = gradient.row(i);
    for (int j = 0; j < own.count; ++j) row[j] = exponential[j] * factor;
    int const wanted = targets[static_cast<std::size_t>(i)];
    if (own.has(wanted)) row[wanted - own.first] -= scale;
    int holder = 0;
    while (!config::tokens_of(holder, shape.model.shards).has(wanted)) ++holder;
    Scalar const logit = statistics(holder).target.data[i] - all.top;
    total += std::log(static_cast<double>(all.mass)) - static_cast<double>(logit);
  }
  return total / gradient.rows;
}

// Computes `scale` times the gradient of the shards' input (rows x width), from what they sent:
// early(shard).
template <class Scalar, class Early>
void join_early(int shards, Early const& early, Scalar scale, matrix<Scalar> const& gradient) {
  for (int i = 0; i < gradient.rows; ++i) {
    row_softmax<Scalar> const all(shards, i, early);
    Scalar* const row = gradient.row(i);
    std::fill_n(row, gradient.cols, Scalar{});
    for (int s = 0; s < shards; ++s) {
      auto const from = early(s);
      Scalar const factor = all.factor(from.top.data[i]) * scale;
      Scalar const* const attracted = from.attracted.row(i);
      Scalar const* const target = from.target.row(i);
      for (int j = 0; j < gradient.cols; ++j) row[j] += attracted[j] * factor - target[j] * scale;
    }
  }
}

// The sum of what shards sent, in their order: each sent(shard) is rows x width. It is also the gradient
// of the shards' input if their backwards gave it.
template <class Scalar, class Sent>
void join_late(int shards, Sent const& sent, matrix<Scalar> const& gradient) {
  std::copy_n(sent(0), gradient.size(), gradient.data);
  for (int s = 1; s < shards; ++s)
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient.data[i] += sent(s)[i];
}

}  // namespace gpt
