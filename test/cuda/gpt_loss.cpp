// Compares the loss on the GPU with sums in double precision.
#include "gpt_arrays.hpp"

#include <doctest/doctest.h>
#include <gpt_cuda/kernels/loss.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace gpt_cuda_test;

namespace {

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

TEST_CASE("gpt_cuda: the loss and its gradient are what they are in double precision") {
  for (int const rows : {1, 10, 150}) {
    check_loss<float>(rows, 256);
    check_loss<bf16>(rows, 256);
    check_loss<float>(rows, 7);
  }
}
