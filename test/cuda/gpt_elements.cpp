// Compares the other kernels of the model with double precision, and the optimizer with the host's.
#include "gpt_arrays.hpp"

#include <doctest/doctest.h>
#include <gpt/adam.hpp>
#include <gpt_cuda/kernels/adam.hpp>
#include <gpt_cuda/kernels/embedding.hpp>
#include <gpt_cuda/kernels/gelu.hpp>
#include <gpt_cuda/kernels/squares.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

using namespace gpt_cuda_test;

namespace {

template <class T>
void check_gelu(std::size_t count) {
  CAPTURE(count);
  auto const x = random_values<T>(count, 1, 2), dy = random_values<T>(count, 2);
  std::vector<double> y, dx;
  for (std::size_t i = 0; i < count; ++i) {
    double const v = number(x[i]), a = std::sqrt(2 / 3.14159265358979323846), b = 0.044715;
    double const t = std::tanh(a * (v + b * v * v * v));
    y.push_back(0.5 * v * (1 + t));
    dx.push_back(number(dy[i]) * (0.5 * (1 + t) + 0.5 * v * (1 - t * t) * a * (1 + 3 * b * v * v)));
  }
  auto const stream = ashlar::cuda::stream::make();
  gpu_array<T> const gx(x), gy(count), gradient(dy);
  gpt_cuda::gelu<T>(count, gx, gy, stream.get());
  gpt_cuda::gelu_backward<T>(count, gx, gradient, stream.get());
  CHECK(distance(as_doubles(gy.values()), y) < tolerance<T>);
  CHECK(distance(as_doubles(gradient.values()), dx) < tolerance<T>);
}

template <class T>
void check_embedding(int rows, int width, int context) {
  CAPTURE(rows);
  CAPTURE(width);
  auto const cols = static_cast<std::size_t>(width), places = static_cast<std::size_t>(context),
             count = static_cast<std::size_t>(rows);
  auto const input = random_tokens(count, 1);
  auto const tokens = random_values<T>(256 * cols, 2), positions = random_values<T>(places * cols, 3),
             dy = random_values<T>(count * cols, 4);
  std::vector<double> y, dtokens(256 * cols, 1.0), dpositions(places * cols, 2.0);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < cols; ++j) {
      y.push_back(number(tokens[input[i] * cols + j]) + number(positions[i % places * cols + j]));
      dtokens[input[i] * cols + j] += number(dy[i * cols + j]);
      dpositions[i % places * cols + j] += number(dy[i * cols + j]);
    }
  auto const stream = ashlar::cuda::stream::make();
  gpu_array<std::uint8_t> const ginput(input);
  gpu_array<T> const gtokens(tokens), gpositions(positions), gy(count * cols), gdy(dy);
  gpu_array<float> const sum_tokens(std::vector<float>(256 * cols, 1.0F)),
      sum_positions(std::vector<float>(places * cols, 2.0F));
  gpt_cuda::embed<T>(rows, width, context, ginput, gtokens, gpositions, gy, stream.get());
  gpt_cuda::embed_backward<T>(rows, width, context, ginput, gdy, sum_tokens, sum_positions,
                              stream.get());
  CHECK(distance(as_doubles(gy.values()), y) < tolerance<T>);
  CHECK(distance(as_doubles(sum_tokens.values()), dtokens) < 2e-6);
  CHECK(distance(as_doubles(sum_positions.values()), dpositions) < 2e-6);
}

double squares_of(std::vector<float> const& values, std::size_t offset = 0) {
  std::vector<float> padded(offset, 0.0F);
  padded.insert(padded.end(), values.begin(), values.end());
  gpu_array<float> const on_gpu(padded);
  gpu_array<double> const pieces(static_cast<std::size_t>(gpt_cuda::square_pieces)), sum(1);
  gpt_cuda::set_squares(values.size(), on_gpu + offset, pieces, nullptr);
  gpt_cuda::set_sum_of_squares(gpt_cuda::square_pieces, pieces, sum, nullptr);
  return sum.values()[0];
}

struct adam_state {
  std::vector<float> weights, first, second;
};

// Makes `steps` steps with other gradients each.
void check_adam(std::size_t count, std::size_t offset, double clip) {
  CAPTURE(count);
  CAPTURE(clip);
  gpt::adam_options const options{.rate = 2e-3, .clip = clip};
  std::size_t const all = offset + count;
  adam_state host{random_values<float>(all, 1), std::vector<float>(all), std::vector<float>(all)};
  gpu_array<float> const weights(host.weights), first(all), second(all);
  gpu_array<bf16> const shadow(all);
  gpu_array<double> const seen(1);
  for (int step = 1; step <= 3; ++step) {
    auto const gradient = random_values<float>(all, 10 + static_cast<unsigned>(step));
    double square = 0;
    for (float const g : gradient) square += number(g) * number(g);
    gpt::adam_step<float>(options, step, options.scale_for(std::sqrt(square)),
                          std::span(host.weights).subspan(offset), std::span(gradient).subspan(offset),
                          std::span(host.first).subspan(offset), std::span(host.second).subspan(offset));
    double const warm1 = 1 - std::pow(options.beta1, step), warm2 = 1 - std::pow(options.beta2, step);
    gpu_array<gpt_cuda::adam_numbers> const numbers_of_step(std::vector<gpt_cuda::adam_numbers>{
        {static_cast<float>(options.rate / warm1 * std::sqrt(warm2)),
         static_cast<float>(options.epsilon * std::sqrt(warm2)), 0.9F, 0.98F, clip}});
    gpu_array<float> const ggradient(gradient);
    gpu_array<double> const squares(std::vector<double>{square});
    gpt_cuda::adam_step(count, numbers_of_step, squares, ggradient + offset, weights + offset,
                        first + offset, second + offset, shadow + offset, seen, nullptr);
    CHECK(seen.values()[0] == square);
    CHECK(distance(as_doubles(weights.values()), as_doubles(host.weights)) < 1e-6);
    CHECK(distance(as_doubles(first.values()), as_doubles(host.first)) < 1e-6);
    CHECK(distance(as_doubles(second.values()), as_doubles(host.second)) < 1e-6);
  }
  std::vector<double> rounded(offset, 0.0);
  std::vector<float> const last = weights.values();
  for (std::size_t i = offset; i < all; ++i) rounded.push_back(number(element<bf16>(number(last[i]))));
  CHECK(as_doubles(shadow.values()) == rounded);
}

}  // namespace

TEST_CASE("gpt_cuda: GELU and its slope are what they are in double precision") {
  for (std::size_t const count : {std::size_t{1}, std::size_t{77}, std::size_t{4096}}) {
    check_gelu<float>(count);
    check_gelu<bf16>(count);
  }
}

TEST_CASE("gpt_cuda: embeddings and their gradients are what they are in double precision") {
  check_embedding<float>(20, 10, 5);
  check_embedding<bf16>(20, 10, 5);
  check_embedding<float>(1100, 136, 100);
  check_embedding<bf16>(1100, 136, 100);
}

TEST_CASE("gpt_cuda: squares are summed up to a relative 1e-9, and to the same bits in any order") {
  auto const values = random_values<float>(4000, 1, 0.1);
  double exact = 0;
  for (float const v : values) exact += number(v) * number(v);
  CHECK(std::abs(squares_of(values) - exact) < 1e-9 * exact);
  CHECK(std::abs(squares_of(values, 1) - exact) < 1e-9 * exact);  // not aligned
  std::vector<float> const head(values.begin(), values.begin() + 1600),
      tail(values.begin() + 1600, values.end());
  CHECK(squares_of(values) == squares_of(head) + squares_of(tail));
  std::vector<float> spoilt = values;
  spoilt[7] = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(squares_of(spoilt)));
  spoilt[7] = std::numeric_limits<float>::infinity();
  CHECK(std::isinf(squares_of(spoilt)));
}

TEST_CASE("gpt_cuda: Adam makes the host's steps, clipped and not, on whole groups and on shards") {
  for (double const clip : {0.0, 1.0, 1e9}) {
    check_adam(1024, 0, clip);
    check_adam(77, 0, clip);
    check_adam(500, 2, clip);
  }
}

TEST_CASE("gpt_cuda: a gradient whose norm is not finite changes nothing") {
  gpu_array<float> const gradient(random_values<float>(64, 1)), weights(random_values<float>(64, 2)),
      first(64), second(64);
  std::vector<float> const before = weights.values();
  gpu_array<gpt_cuda::adam_numbers> const some(
      std::vector<gpt_cuda::adam_numbers>{{1, 1, 0.9F, 0.9F, 1}});
  for (double const square : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    gpu_array<double> const squares(std::vector<double>{square}), seen(1);
    gpt_cuda::adam_step(64, some, squares, gradient, weights, first, second, nullptr, seen, nullptr);
    CHECK(weights.values() == before);
    CHECK(!std::isfinite(seen.values()[0]));
  }
}
