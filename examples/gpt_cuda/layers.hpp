// The layers of a block on a stream: products, and the kernels around them.
#pragma once

#include "element.hpp"
#include "kernels/column_sums.hpp"
#include "kernels/layer_norm.hpp"
#include "matmul.hpp"
#include "scratch.hpp"
#include "slots.hpp"
#include "weights.hpp"

#include <cuda_runtime.h>
#include <gpt/config.hpp>
#include <gpt/layer_norm.hpp>
#include <gpt/linear.hpp>

#include <cstddef>

namespace gpt_cuda {

// The context that a pass works in.
template <class T>
struct context {
  gpt::config const& model;
  device_scratch<T>& device;
  cudaStream_t stream;

  int rows() const { return model.rows(); }
  pass_scratch<T> const& scratch() const { return device.pass; }
  void multiply(product_shape shape, T const* left, T const* right, T const* bias, void const* added,
                void* out) const {
    shape.in_type = cuda_type<T>;
    shape.has_bias = bias != nullptr;
    device.products.multiply(shape, left, right, bias, added, out, stream);
  }
};

// Computes y = x W + b, or y = x W + b + added.
template <class T>
void linear(context<T> const& c, stage_weights<T> const& weights, gpt::linear<float const> const& layer,
            T const* x, T const* added, T* y) {
  int const inputs = layer.weight.rows, outputs = layer.weight.cols;
  c.multiply({.rows = c.rows(),
              .cols = outputs,
              .depth = inputs,
              .left = {inputs},
              .right = {outputs},
              .out = {outputs},
              .out_type = cuda_type<T>},
             x, weights(layer.weight), weights(layer.bias), added, y);
}

// Computes dx = dy W'.
template <class T>
void linear_backward_input(context<T> const& c, stage_weights<T> const& weights,
                           gpt::linear<float const> const& layer, T const* dy, T* dx) {
  int const inputs = layer.weight.rows, outputs = layer.weight.cols;
  c.multiply({.rows = c.rows(),
              .cols = inputs,
              .depth = outputs,
              .left = {outputs},
              .right = {outputs, true},
              .out = {inputs},
              .out_type = cuda_type<T>},
             dy, weights(layer.weight), nullptr, nullptr, dx);
}

// Adds x' dy to dW; x and dy are rows x inputs and rows x outputs.
template <class T>
void add_product_over_rows(context<T> const& c, int inputs, int outputs, T const* x, T const* dy,
                           float* gradient) {
  c.multiply({.rows = inputs,
              .cols = outputs,
              .depth = c.rows(),
              .left = {inputs, true},
              .right = {outputs},
              .out = {outputs}},
             x, dy, nullptr, gradient, gradient);
}

template <class T>
void add_bias_gradient(context<T> const& c, int outputs, T const* dy, float* gradient) {
  add_bias_gradient(c.rows(), outputs, dy, c.scratch().column_sums, gradient, c.stream);
}

template <class T>
void linear_backward_weight(context<T> const& c, gpt::linear<float> const& gradient, T const* x,
                            T const* dy) {
  add_product_over_rows(c, gradient.weight.rows, gradient.weight.cols, x, dy, gradient.weight.data);
  add_bias_gradient(c, gradient.weight.cols, dy, gradient.bias.data);
}

template <class T>
void norm(context<T> const& c, stage_weights<T> const& weights,
          gpt::layer_norm<float const> const& layer, T const* x, norm_stash<T> const& stash) {
  layer_norm(c.rows(), c.model.width, x, weights(layer.gain), weights(layer.bias), stash.output,
             stash.mean, stash.inverse, c.stream);
}

// Computes down = up + the gradient of x; up may be null.
template <class T>
void norm_backward_input(context<T> const& c, stage_weights<T> const& weights,
                         gpt::layer_norm<float const> const& layer, T const* x,
                         norm_stash<T> const& stash, T const* dy, T const* up, T* down) {
  layer_norm_backward(c.rows(), c.model.width, x, stash.mean, stash.inverse, weights(layer.gain), dy, up,
                      down, c.stream);
}

template <class T>
void norm_backward_weight(context<T> const& c, gpt::layer_norm<float> const& gradient, T const* x,
                          norm_stash<T> const& stash, T const* dy) {
  add_norm_gradient(c.rows(), c.model.width, x, stash.mean, stash.inverse, dy, c.scratch().column_sums,
                    gradient.gain.data, gradient.bias.data, c.stream);
}

// Copies rows x width elements from one slot to another.
template <class T>
void copy_stream(context<T> const& c, T const* from, T* to) {
  if (from == to) return;
  auto const elements = static_cast<std::size_t>(c.rows()) * static_cast<std::size_t>(c.model.width);
  ASHLAR_CUDA(cudaMemcpyAsync, to, from, elements * sizeof(T), cudaMemcpyDeviceToDevice, c.stream);
}

}  // namespace gpt_cuda
