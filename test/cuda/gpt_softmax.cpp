// The causal softmax and the loss on the GPU against sums in double precision.
#include "gpt_arrays.hpp"

#include <doctest/doctest.h>
#include <gpt_cuda/kernels/loss.hpp>
#include <gpt_cuda/kernels/softmax.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace gpt_cuda_test;

namespace {

template <class T>
void check_softmax(int matrices, int context, float scale) {
  CAPTURE(matrices);
  CAPTURE(context);
  auto const size = static_cast<std::size_t>(context), rows = static_cast<std::size_t>(matrices) * size;
  auto const scores = random_values<float>(rows * size, 1, 5),
             gradient = random_values<float>(rows * size, 2);
  std::vector<double> weights(rows * size, 0.0), dscores(rows * size, 0.0), exponent;
  for (std::size_t row = 0; row < rows; ++row) {
    std::size_t const count = row % size + 1, at = row * size;
    double mass = 0, along = 0;
    for (std::size_t j = 0; j < count; ++j) mass += std::exp(number(scores[at + j]) * number(scale));
    exponent.push_back(std::log(mass));
    for (std::size_t j = 0; j < count; ++j) {
      weights[at + j] = std::exp(number(scores[at + j]) * number(scale)) / mass;
      along += weights[at + j] * number(gradient[at + j]);
    }
    for (std::size_t j = 0; j < count; ++j)
      dscores[at + j] = weights[at + j] * (number(gradient[at + j]) - along) * number(scale);
  }

  auto const stream = ashlar::cuda::stream::make();
  gpu_array<float> const gscores(scores), ggradient(gradient), gexponent(rows);
  // Whatever lies in them.
  gpu_array<T> const gweights(random_values<T>(rows * size, 3)),
      gdscores(random_values<T>(rows * size, 4));
  gpt_cuda::causal_softmax<T>(matrices, context, scale, gscores, gweights, gexponent, stream.get());
  CHECK(distance(as_doubles(gweights.values()), weights) < 2 * tolerance<T>);
  CHECK(distance(as_doubles(gexponent.values()), exponent) < 2e-6);

  gpu_array<T> const again(random_values<T>(rows * size, 5));
  gpt_cuda::causal_softmax_backward<T>(matrices, context, scale, gscores, gexponent, ggradient, again,
                                       gdscores, stream.get());
  CHECK(distance(as_doubles(again.values()), weights) < 2 * tolerance<T>);
  CHECK(distance(as_doubles(gdscores.values()), dscores) < 2 * tolerance<T>);
  if constexpr (std::is_same_v<T, float>) {  // in place
    gpt_cuda::causal_softmax_backward<T>(matrices, context, scale, gscores, gexponent, ggradient,
                                         gscores, ggradient, stream.get());
    CHECK(distance(as_doubles(gscores.values()), weights) < 2 * tolerance<T>);
    CHECK(distance(as_doubles(ggradient.values()), dscores) < 2 * tolerance<T>);
  }
}

template <class T>
void check_loss(int rows, int cols) {
  CAPTURE(rows);
  CAPTURE(cols);
  auto const width = static_cast<std::size_t>(cols), count = static_cast<std::size_t>(rows);
  auto const logits = random_values<float>(count * width, 1, 3);
  auto const bias = random_values<T>(width, 2);
  auto const targets = random_tokens(count, 3, cols - 1);
  float const scale = 0.25F;
  std::vector<double> gradient;
  double total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<double> row;
    double mass = 0;
    for (std::size_t j = 0; j < width; ++j) {
      row.push_back(std::exp(number(logits[i * width + j]) + number(bias[j])));
      mass += row.back();
    }
    total -= std::log(row[targets[i]] / mass);
    for (std::size_t j = 0; j < width; ++j)
      gradient.push_back((row[j] / mass - (j == targets[i] ? 1 : 0)) * number(scale));
  }

  auto const stream = ashlar::cuda::stream::make();
  gpu_array<float> const glogits(logits), losses(count);
  gpu_array<T> const gbias(bias), ggradient(count * width);
  gpu_array<std::uint8_t> const gtargets(targets);
  gpu_array<double> const loss(1);
  gpt_cuda::cross_entropy<T>(rows, cols, glogits, gbias, gtargets, scale, ggradient, losses, loss,
                             stream.get());
  CHECK(std::abs(loss.values()[0] - total / rows) < 2e-6 * total / rows);
  CHECK(distance(as_doubles(ggradient.values()), gradient) < 2 * tolerance<T>);
}

}  // namespace

TEST_CASE("gpt_cuda: the causal softmax and its gradient are what they are in double precision") {
  for (int const context : {1, 5, 12, 64, 150}) {
    check_softmax<float>(3, context, 0.3F);
    check_softmax<bf16>(3, context, 0.3F);
  }
}

TEST_CASE("gpt_cuda: scores too large for an exponential give weights all the same") {
  gpu_array<float> const scores(std::vector<float>{500, 0, -1000, 1000}), exponent(2);
  gpu_array<float> const weights(4);
  auto const stream = ashlar::cuda::stream::make();
  gpt_cuda::causal_softmax<float>(1, 2, 1, scores, weights, exponent, stream.get());
  CHECK(weights.values() == std::vector<float>{1, 0, 0, 1});
  CHECK(exponent.values() == std::vector<float>{500, 1000});
}

TEST_CASE("gpt_cuda: the loss and its gradient are what they are in double precision") {
  for (int const rows : {1, 10, 150}) {
    check_loss<float>(rows, 256);
    check_loss<bf16>(rows, 256);
    check_loss<float>(rows, 7);
  }
}
