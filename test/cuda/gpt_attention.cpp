// Causal attention on the GPU against sums in double precision.
#include "gpt_arrays.hpp"

#include <doctest/doctest.h>
#include <gpt_cuda/kernels/attention.hpp>
#include <gpt_cuda/worker.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

using namespace gpt_cuda_test;
using gpt_cuda::attention_shape;

namespace {

// As attention is defined: all scores, their softmax, and the gradients of both.
struct plain_attention {
  attention_shape of;
  std::vector<double> qkv, merged, exponent, dqkv;

  plain_attention(attention_shape const& s, std::vector<double> given)
      : of(s), qkv(std::move(given)), merged(qkv.size() / 3, 0.0), dqkv(qkv.size(), 0.0) {
    each_row([&](int sequence, int head, int query) {
      std::vector<double> const w = weights(sequence, head, query);
      for (std::size_t key = 0; key < w.size(); ++key)
        for (int d = 0; d < of.head_width; ++d)
          merged[at(1, 0, sequence, head, query, d)] +=
              w[key] * qkv[at(3, 2, sequence, head, static_cast<int>(key), d)];
    });
  }

  void backward(std::vector<double> const& up) {
    each_row([&](int sequence, int head, int query) {
      std::vector<double> const w = weights(sequence, head, query);
      std::vector<double> dweights;
      double along = 0;
      for (int key = 0; key <= query; ++key) {
        double sum = 0;
        for (int d = 0; d < of.head_width; ++d) {
          double const u = up[at(1, 0, sequence, head, query, d)];
          sum += u * qkv[at(3, 2, sequence, head, key, d)];
          dqkv[at(3, 2, sequence, head, key, d)] += w[dweights.size()] * u;
        }
        along += w[dweights.size()] * sum;
        dweights.push_back(sum);
      }
      for (int key = 0; key <= query; ++key)
        for (int d = 0; d < of.head_width; ++d) {
          auto const k = static_cast<std::size_t>(key);
          double const slope = w[k] * (dweights[k] - along) * scale();
          dqkv[at(3, 0, sequence, head, query, d)] += slope * qkv[at(3, 1, sequence, head, key, d)];
          dqkv[at(3, 1, sequence, head, key, d)] += slope * qkv[at(3, 0, sequence, head, query, d)];
        }
    });
  }

 private:
  double scale() const { return 1 / std::sqrt(static_cast<double>(of.head_width)); }
  std::size_t at(int parts, int part, int sequence, int head, int row, int d) const {
    int const width = of.heads * of.head_width;
    return static_cast<std::size_t>((sequence * of.context + row) * parts * width + part * width
                                    + head * of.head_width + d);
  }
  template <class Act>
  void each_row(Act act) {
    exponent.clear();
    for (int sequence = 0; sequence < of.sequences; ++sequence)
      for (int head = 0; head < of.heads; ++head)
        for (int query = 0; query < of.context; ++query) act(sequence, head, query);
  }
  std::vector<double> weights(int sequence, int head, int query) {
    std::vector<double> scores;
    for (int key = 0; key <= query; ++key) {
      double sum = 0;
      for (int d = 0; d < of.head_width; ++d)
        sum += qkv[at(3, 0, sequence, head, query, d)] * qkv[at(3, 1, sequence, head, key, d)];
      scores.push_back(sum * scale());
    }
    double const top = *std::max_element(scores.begin(), scores.end());
    double mass = 0;
    for (double const s : scores) mass += std::exp(s - top);
    exponent.push_back(top + std::log(mass));
    for (double& s : scores) s = std::exp(s - exponent.back());
    return scores;
  }
};

// How far sums of rounded numbers are from exact.
template <class T>
inline constexpr double attention_tolerance = std::is_same_v<T, bf16> ? 1e-2 : 4e-6;

template <class T>
void check_attention(attention_shape const& s, double scale = 1,
                     double tolerance = attention_tolerance<T>) {
  CAPTURE(s.context);
  CAPTURE(s.head_width);
  auto const rows = static_cast<std::size_t>(s.sequences * s.context),
             width = static_cast<std::size_t>(s.heads * s.head_width),
             list = rows * static_cast<std::size_t>(s.heads);
  auto const qkv = random_values<T>(3 * rows * width, 1, scale), up = random_values<T>(rows * width, 2);
  plain_attention expected(s, as_doubles(qkv));

  auto const stream = ashlar::cuda::stream::make();
  // Whatever lies in what is written.
  gpu_array<T> const gqkv(qkv), gup(up), merged(random_values<T>(rows * width, 3)),
      dqkv(random_values<T>(3 * rows * width, 4));
  gpu_array<float> const exponent(random_values<float>(list, 5)), along(random_values<float>(list, 6));
  gpt_cuda::causal_attention<T>(s, gqkv, merged, exponent, stream.get());
  CHECK(distance(as_doubles(merged.values()), expected.merged) < tolerance);
  CHECK(distance(as_doubles(exponent.values()), expected.exponent) < 4e-6);

  expected.backward(as_doubles(up));
  gpt_cuda::causal_attention_backward<T>(s, gqkv, merged, exponent, gup, along, dqkv, stream.get());
  CHECK(distance(as_doubles(dqkv.values()), expected.dqkv) < tolerance);

  std::vector<T> const first = dqkv.values();
  gpt_cuda::causal_attention_backward<T>(s, gqkv, merged, exponent, gup, along, dqkv, stream.get());
  CHECK(as_doubles(dqkv.values()) == as_doubles(first));
}

}  // namespace

// Contexts of less than a tile, of whole tiles and of more; heads for each of the kernels, with rows
// that are read in packs and one by one.
TEST_CASE("gpt_cuda: causal attention and its gradient are what they are in double precision") {
  for (attention_shape const& s :
       {attention_shape{1, 1, 1, 1}, attention_shape{2, 2, 5, 5}, attention_shape{1, 2, 64, 16},
        attention_shape{1, 1, 70, 33}, attention_shape{1, 1, 33, 64}, attention_shape{1, 1, 50, 72},
        attention_shape{1, 1, 20, 128}}) {
    check_attention<float>(s);
    check_attention<bf16>(s);
  }
}

TEST_CASE("gpt_cuda: scores too large for an exponential give weights all the same") {
  check_attention<float>({1, 1, 40, 8}, 30, 1e-3);  // as exact as a score of a thousand in float
}

TEST_CASE("gpt_cuda: heads that do not fit are refused") {
  CHECK_THROWS_WITH_AS(gpt_cuda::worker<float>({.blocks = 1, .width = 129, .heads = 1}, 3),
                       "attention on GPUs has heads of at most 128 channels, not 129",
                       std::invalid_argument);
}

// What a block keeps, and what a pass needs besides, grows with the context as its rows do: nowhere is
// there a matrix of context x context.
TEST_CASE("gpt_cuda: the memory of attention grows with the context, not with its square") {
  auto const bytes = [](int context) {
    gpt::config const shape{.blocks = 1, .context = context, .sequences = 1, .stages = 1};
    std::size_t const products = gpt_cuda::products::workspace_bytes;
    return gpt_cuda::bytes_of<gpt_cuda::block_stash<float>>(shape)
           + gpt_cuda::bytes_of<gpt_cuda::pass_scratch<float>>(shape) - products;
  };
  CHECK(bytes(2048) < 2 * bytes(1024) + 4096);
  CHECK(bytes(2048) > 2 * bytes(1024) - bytes(64));
}
