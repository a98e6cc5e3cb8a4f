// Compares causal attention on the GPU with sums in double precision.
#include "gpt_arrays.hpp"
#include "gpt_plain_attention.hpp"

#include <doctest/doctest.h>
#include <gpt_cuda/kernels/attention.hpp>
#include <gpt_cuda/worker.hpp>

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <type_traits>
#include <vector>

using namespace gpt_cuda_test;

namespace {

// The relative error of rounding to bf16, and what sums and exponentials in float add to it.
constexpr double rounding = 1.0 / 256, beside_rounding = 1.05;

// Each element may be as far off as rounding explains. In float that explains too little, so all count
// together.
template <class T>
void check_close(std::vector<T> const& found, std::vector<double> const& expected,
                 std::vector<double> const& off, double tolerance) {
  if constexpr (std::is_same_v<T, bf16>) {
    std::size_t too_far = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      double const apart = std::abs(number(found[i]) - expected[i]);
      bool const close = apart <= beside_rounding * rounding * off[i] + 1e-6;
      if (!close) ++too_far;
    }
    CHECK(too_far == 0);
  } else {
    CHECK(distance(as_doubles(found), expected) < tolerance);
  }
}

// The results of a forward and a backward pass.
template <class T>
struct attention_results {
  std::vector<T> merged, dqkv;
  std::vector<float> exponent;

  attention_results(attention_shape const& s, std::vector<T> const& qkv, std::vector<T> const& up) {
    std::size_t const list = up.size() / static_cast<std::size_t>(s.head_width);
    auto const stream = ashlar::cuda::stream::make();
    // The outputs may hold anything before.
    gpu_array<T> const gqkv(qkv), gup(up), gmerged(random_values<T>(up.size(), 3)),
        gdqkv(random_values<T>(qkv.size(), 4));
    gpu_array<float> const gexponent(random_values<float>(list, 5)),
        along(random_values<float>(list, 6));
    gpt_cuda::causal_attention<T>(s, gqkv, gmerged, gexponent, stream.get());
    gpt_cuda::causal_attention_backward<T>(s, gqkv, gmerged, gexponent, gup, along, gdqkv, stream.get());
    merged = gmerged.values();
    dqkv = gdqkv.values();
    exponent = gexponent.values();
  }
};

template <class T>
void check_attention(attention_shape const& s, double scale = 1, double tolerance = 4e-6) {
  CAPTURE(s.context);
  CAPTURE(s.head_width);
  auto const rows = static_cast<std::size_t>(s.sequences * s.context),
             width = static_cast<std::size_t>(s.heads * s.head_width);
  auto const qkv = random_values<T>(3 * rows * width, 1, scale), up = random_values<T>(rows * width, 2);
  plain_attention expected(s, as_doubles(qkv));
  attention_results<T> const found(s, qkv, up);
  check_close(found.merged, expected.merged, expected.merged_off, tolerance);
  CHECK(distance(as_doubles(found.exponent), expected.exponent) < 4e-6);
  expected.backward(as_doubles(up));
  check_close(found.dqkv, expected.dqkv, expected.dqkv_off, tolerance);

  attention_results<T> const again(s, qkv, up);
  CHECK(as_doubles(again.merged) == as_doubles(found.merged));
  CHECK(as_doubles(again.dqkv) == as_doubles(found.dqkv));
}

// The elements of a head of a sequence, in rows of parts x heads x head_width elements.
template <class T>
struct head_elements {
  attention_shape of;
  int parts;

  template <class Act>  // act(index, row)
  void each(int sequence, int head, Act act) const {
    for (int row = 0; row < of.context; ++row)
      for (int part = 0; part < parts; ++part)
        for (int d = 0; d < of.head_width; ++d)
          act(static_cast<std::size_t>((((sequence * of.context + row) * parts + part) * of.heads + head)
                                           * of.head_width
                                       + d),
              row);
  }
  std::vector<double> of_head(std::vector<T> const& all, int sequence, int head, int rows) const {
    std::vector<double> some;
    each(sequence, head, [&](std::size_t i, int row) {
      if (row < rows) some.push_back(number(all[i]));
    });
    return some;
  }
  // Values for one head of one sequence, and `otherwise` for all others.
  std::vector<T> alone(std::vector<T> const& values, int sequence, int head, double otherwise) const {
    std::vector<T> all(static_cast<std::size_t>(of.sequences * of.heads) * values.size(),
                       element<T>(otherwise));
    std::size_t next = 0;
    each(sequence, head, [&](std::size_t i, int) { all[i] = values[next++]; });
    return all;
  }
};

// A head among others that are no numbers has the bits that it has by itself.
template <class T>
void check_head_among_others(attention_shape const& one) {
  attention_shape const many{3, 3, one.context, one.head_width};
  auto const size = static_cast<std::size_t>(one.context * one.head_width);
  auto const qkv = random_values<T>(3 * size, 1), up = random_values<T>(size, 2);
  head_elements<T> const thirds{many, 3}, wholes{many, 1};
  attention_results<T> const by_itself(one, qkv, up),
      among(many, thirds.alone(qkv, 1, 1, NAN), wholes.alone(up, 1, 1, NAN));
  CHECK(wholes.of_head(among.merged, 1, 1, one.context) == as_doubles(by_itself.merged));
  CHECK(thirds.of_head(among.dqkv, 1, 1, one.context) == as_doubles(by_itself.dqkv));
}

// The results of the first rows, but for gradients of keys and values, do not depend on later ones.
template <class T>
void check_later_rows(attention_shape const& s, int first_rows) {
  auto const size = static_cast<std::size_t>(s.context * s.head_width);
  auto const qkv = random_values<T>(3 * size, 1), up = random_values<T>(size, 2);
  head_elements<T> const thirds{s, 3}, wholes{s, 1};
  std::vector<T> others = qkv, others_up = up;
  thirds.each(0, 0, [&](std::size_t i, int row) {
    if (row >= first_rows) others[i] = element<T>(i % 2 == 0 ? 1e15 : -1e15);
  });
  wholes.each(0, 0, [&](std::size_t i, int row) {
    if (row >= first_rows) others_up[i] = element<T>(1e15);
  });
  attention_results<T> const found(s, qkv, up), with_others(s, others, others_up);
  CHECK(wholes.of_head(with_others.merged, 0, 0, first_rows)
        == wholes.of_head(found.merged, 0, 0, first_rows));
  head_elements<T> const queries{{.heads = 3, .context = s.context, .head_width = s.head_width}, 1};
  CHECK(queries.of_head(with_others.dqkv, 0, 0, first_rows)
        == queries.of_head(found.dqkv, 0, 0, first_rows));
}

}  // namespace

// There are contexts of less than a tile, of whole tiles and of more; and heads for each of the kernels,
// with rows that are read in packs and one by one.
TEST_CASE("gpt_cuda: causal attention and its gradient are what they are in double precision") {
  for (attention_shape const& s :
       {attention_shape{1, 1, 1, 1}, attention_shape{2, 2, 5, 5}, attention_shape{1, 2, 64, 16},
        attention_shape{1, 1, 70, 33}, attention_shape{1, 1, 33, 64}, attention_shape{1, 1, 50, 72},
        attention_shape{1, 1, 20, 128}}) {
    check_attention<float>(s);
    check_attention<bf16>(s);
  }
}

// Their tiles are larger, and so are some heads and contexts here.
TEST_CASE("gpt_cuda: causal attention in bf16 is as far off as rounding explains") {
  for (attention_shape const& s :
       {attention_shape{1, 1, 1, 128}, attention_shape{1, 3, 7, 24}, attention_shape{2, 1, 33, 96},
        attention_shape{1, 1, 65, 17}, attention_shape{1, 2, 129, 40}, attention_shape{1, 1, 150, 127},
        attention_shape{1, 1, 513, 8}})
    check_attention<bf16>(s);
}

TEST_CASE("gpt_cuda: attention of a head does not depend on what lies around it") {
  for (attention_shape const& s :
       {attention_shape{1, 1, 20, 33}, attention_shape{1, 1, 70, 8}, attention_shape{1, 1, 33, 72}}) {
    check_head_among_others<float>(s);
    check_head_among_others<bf16>(s);
  }
}

TEST_CASE("gpt_cuda: attention of a row does not depend on later ones") {
  for (int const rows : {1, 40, 64}) {
    check_later_rows<float>({1, 1, 70, 24}, rows);
    check_later_rows<bf16>({1, 1, 70, 24}, rows);
  }
}

TEST_CASE("gpt_cuda: scores too large for an exponential give weights all the same") {
  check_attention<float>({1, 1, 40, 8}, 30, 1e-3);  // as exact as a score of a thousand in float
  check_attention<bf16>({1, 1, 40, 8}, 30);
}

TEST_CASE("gpt_cuda: heads that do not fit are refused") {
  CHECK_THROWS_WITH_AS(gpt_cuda::worker<float>({.blocks = 1, .width = 129, .heads = 1}, 3),
                       "attention on GPUs has heads of at most 128 channels, not 129",
                       std::invalid_argument);
}

// Memory that a block keeps, and that a pass needs besides, grows with the context as its rows do:
// nowhere is there a matrix of context x context.
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
