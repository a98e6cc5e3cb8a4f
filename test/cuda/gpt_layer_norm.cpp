// Compares layer norms on the GPU with sums in double precision.
#include "gpt_arrays.hpp"

#include <doctest/doctest.h>
#include <gpt_cuda/kernels/column_sums.hpp>
#include <gpt_cuda/kernels/layer_norm.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

using namespace gpt_cuda_test;

namespace {

struct norm_case {
  int rows, width;

  std::size_t size() const { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(width); }
};
constexpr norm_case norm_cases[] = {{1, 1}, {5, 10}, {13, 96}, {70, 33}, {9, 264}, {600, 48}};

// The reference computes everything in double precision.
struct norm_reference {
  std::vector<double> standard, output, mean, inverse, down, gain, bias;

  norm_reference(norm_case c, std::vector<double> const& x, std::vector<double> const& g,
                 std::vector<double> const& b, std::vector<double> const& dy,
                 std::vector<double> const& up)
      : gain(g.size(), 0.0), bias(g.size(), 0.0) {
    auto const width = static_cast<std::size_t>(c.width);
    for (std::size_t i = 0; i < x.size(); i += width) {
      double total = 0, squares = 0, one = 0, row = 0;
      for (std::size_t j = 0; j < width; ++j) total += x[i + j];
      double const m = total / c.width;
      for (std::size_t j = 0; j < width; ++j) squares += (x[i + j] - m) * (x[i + j] - m);
      double const scale = 1 / std::sqrt(squares / c.width + 1e-5);
      mean.push_back(m);
      inverse.push_back(scale);
      for (std::size_t j = 0; j < width; ++j) {
        double const s = (x[i + j] - m) * scale;
        standard.push_back(s);
        output.push_back(s * g[j] + b[j]);
        one += dy[i + j] * g[j] / c.width;
        row += dy[i + j] * g[j] * s / c.width;
        gain[j] += dy[i + j] * s;
        bias[j] += dy[i + j];
      }
      for (std::size_t j = 0; j < width; ++j)
        down.push_back(up[i + j] + (dy[i + j] * g[j] - one - standard[i + j] * row) * scale);
    }
  }
};

template <class T>
void check_norm(norm_case c) {
  CAPTURE(c.rows);
  CAPTURE(c.width);
  auto const width = static_cast<std::size_t>(c.width), rows = static_cast<std::size_t>(c.rows);
  auto const x = random_values<T>(c.size(), 1), dy = random_values<T>(c.size(), 2),
             up = random_values<T>(c.size(), 3), gain = random_values<T>(width, 4),
             bias = random_values<T>(width, 5);
  norm_reference const expected(c, as_doubles(x), as_doubles(gain), as_doubles(bias), as_doubles(dy),
                                as_doubles(up));

  gpu_array<T> const gx(x), gdy(dy), ggain(gain), gbias(bias), output(c.size()), down(up);
  gpu_array<float> const mean(rows), inverse(rows);
  auto const stream = ashlar::cuda::stream::make();
  gpt_cuda::layer_norm<T>(c.rows, c.width, gx, ggain, gbias, output, mean, inverse, stream.get());
  gpt_cuda::layer_norm_backward<T>(c.rows, c.width, gx, mean, inverse, ggain, gdy, down, down,
                                   stream.get());
  CHECK(distance(as_doubles(output.values()), expected.output) < tolerance<T>);
  CHECK(distance(as_doubles(mean.values()), expected.mean) < 1e-5);
  CHECK(distance(as_doubles(inverse.values()), expected.inverse) < 1e-5);
  CHECK(distance(as_doubles(down.values()), expected.down) < tolerance<T>);

  gpt_cuda::layer_norm_backward<T>(c.rows, c.width, gx, mean, inverse, ggain, gdy, nullptr, down,
                                   stream.get());
  std::vector<double> alone = expected.down;
  for (std::size_t i = 0; i < alone.size(); ++i) alone[i] -= number(up[i]);
  if (c.width > 1) CHECK(distance(as_doubles(down.values()), alone) < tolerance<T>);

  // Sums over rows add to what is there.
  gpu_array<float> const partial(gpt_cuda::column_sum_scratch(c.rows, c.width, 2));
  gpu_array<float> const sum_gain(std::vector<float>(width, 1.0F)),
      sum_bias(std::vector<float>(width, 2.0F));
  gpt_cuda::add_norm_gradient<T>(c.rows, c.width, gx, mean, inverse, gdy, partial, sum_gain, sum_bias,
                                 stream.get());
  gpu_array<float> const only_bias(std::vector<float>(width, 3.0F));
  gpt_cuda::add_bias_gradient<T>(c.rows, c.width, gdy, partial, only_bias, stream.get());
  std::vector<double> with_gain = expected.gain, with_bias = expected.bias, with_only = expected.bias;
  for (double& v : with_gain) v += 1;
  for (double& v : with_bias) v += 2;
  for (double& v : with_only) v += 3;
  CHECK(distance(as_doubles(sum_gain.values()), with_gain) < 2e-6);
  CHECK(distance(as_doubles(sum_bias.values()), with_bias) < 2e-6);
  CHECK(distance(as_doubles(only_bias.values()), with_only) < 2e-6);
}

}  // namespace

TEST_CASE("gpt_cuda: layer norm and its gradients are what they are in double precision") {
  for (norm_case const c : norm_cases) {
    check_norm<float>(c);
    check_norm<bf16>(c);
  }
}
