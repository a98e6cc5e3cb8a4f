// Compares products of the model's forms with sums in double precision.
#include "gpt_arrays.hpp"

#include <doctest/doctest.h>
#include <gpt_cuda/matmul.hpp>

#include <cstddef>
#include <vector>

using namespace gpt_cuda_test;
using gpt_cuda::factor;
using gpt_cuda::product_shape;

namespace {

template <class T>
constexpr cudaDataType_t type_of = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_16BF;

std::size_t place(factor const& f, int row, int col) {
  return static_cast<std::size_t>(f.transposed ? col : row) * static_cast<std::size_t>(f.stride)
         + static_cast<std::size_t>(f.transposed ? row : col);
}

// Elements of an array in which the matrix lies.
std::size_t extent(factor const& f, int rows, int cols) { return place(f, rows - 1, cols - 1) + 1; }

template <class In, class Out>
void check_product(product_shape s, bool adds) {
  s.in_type = type_of<In>;
  s.out_type = type_of<Out>;
  CAPTURE(s.rows);
  CAPTURE(s.cols);
  CAPTURE(s.depth);
  auto const left = random_values<In>(extent(s.left, s.rows, s.depth), 1),
             right = random_values<In>(extent(s.right, s.depth, s.cols), 2),
             bias = random_values<In>(static_cast<std::size_t>(s.cols), 3);
  auto const before = random_values<Out>(extent(s.out, s.rows, s.cols), 4);
  std::vector<double> expected = as_doubles(before);
  for (int i = 0; i < s.rows; ++i)
    for (int j = 0; j < s.cols; ++j) {
      double sum = s.has_bias ? number(bias[static_cast<std::size_t>(j)]) : 0.0;
      for (int k = 0; k < s.depth; ++k)
        sum += number(left[place(s.left, i, k)]) * number(right[place(s.right, k, j)]);
      double& out = expected[place(s.out, i, j)];
      out = sum + (adds ? out : 0.0);
    }
  ashlar::cuda::device_memory const workspace(gpt_cuda::products::workspace_bytes);
  gpt_cuda::products multiply(workspace.data());
  auto const stream = ashlar::cuda::stream::make();
  gpu_array<In> const gleft(left), gright(right), gbias(bias);
  gpu_array<Out> const out(before);
  multiply.multiply(s, gleft.get(), gright.get(), s.has_bias ? gbias.get() : nullptr,
                    adds ? out.get() : nullptr, out.get(), stream.get());
  CHECK(distance(as_doubles(out.values()), expected) < tolerance<Out>);

  // The product goes to another place than its summand, twice by the same plan.
  if (!adds) return;
  gpu_array<Out> const source(before), elsewhere(before), again(before);
  for (Out* const to : {elsewhere.get(), again.get()})
    multiply.multiply(s, gleft.get(), gright.get(), s.has_bias ? gbias.get() : nullptr, source.get(), to,
                      stream.get());
  CHECK(distance(as_doubles(elsewhere.values()), expected) < tolerance<Out>);
  CHECK(as_doubles(again.values()) == as_doubles(elsewhere.values()));
}

template <class T>
void check_forms(int rows, int inputs, int outputs) {
  // y = x W + b, with the stream added or not; dx = dy W'; dW += x' dy; logits = x W'
  product_shape forward{.rows = rows,
                        .cols = outputs,
                        .depth = inputs,
                        .left = {inputs},
                        .right = {outputs},
                        .out = {outputs}};
  forward.has_bias = true;
  check_product<T, T>(forward, false);
  check_product<T, T>(forward, true);
  check_product<T, T>({.rows = rows,
                       .cols = inputs,
                       .depth = outputs,
                       .left = {outputs},
                       .right = {outputs, true},
                       .out = {inputs}},
                      false);
  check_product<T, float>({.rows = inputs,
                           .cols = outputs,
                           .depth = rows,
                           .left = {inputs, true},
                           .right = {outputs},
                           .out = {outputs}},
                          true);
  check_product<T, float>({.rows = rows,
                           .cols = outputs,
                           .depth = inputs,
                           .left = {inputs},
                           .right = {inputs, true},
                           .out = {outputs}},
                          false);
}

}  // namespace

TEST_CASE("gpt_cuda: products are what they are in double precision") {
  check_forms<float>(10, 10, 30);
  check_forms<bf16>(10, 10, 30);
  check_forms<float>(70, 96, 33);
  check_forms<bf16>(70, 96, 40);
}
