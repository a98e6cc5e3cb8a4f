// A transformer block on a stream, as gpt::block.
#pragma once

#include "kernels/attention.hpp"
#include "kernels/gelu.hpp"
#include "layers.hpp"
#include "slots.hpp"
#include "weights.hpp"

#include <gpt/block.hpp>

#include <cstddef>

namespace gpt_cuda {

template <class T>
std::size_t hidden_elements(context<T> const& c) {
  return static_cast<std::size_t>(c.rows()) * static_cast<std::size_t>(c.model.hidden());
}

inline attention_shape attention_of(gpt::config const& model) {
  return {model.sequences, model.heads, model.context, model.head_width()};
}

// Computes `after`, the stream after the block (null: nobody needs it), from stash.before.
template <class T>
void block_forward(context<T> const& c, stage_weights<T> const& weights,
                   gpt::block<float const> const& layers, block_stash<T> const& stash, T* after) {
  norm(c, weights, layers.norm1, stash.before, stash.norm1);
  linear<T>(c, weights, layers.qkv, stash.norm1.output, nullptr, stash.qkv);
  causal_attention(attention_of(c.model), stash.qkv, stash.merged, stash.exponent, c.stream);
  linear<T>(c, weights, layers.projection, stash.merged, stash.before, stash.between);
  norm(c, weights, layers.norm2, stash.between, stash.norm2);
  linear<T>(c, weights, layers.up, stash.norm2.output, nullptr, stash.up);
  gelu(hidden_elements(c), stash.up, stash.hidden, c.stream);
  if (after != nullptr) linear<T>(c, weights, layers.down, stash.hidden, stash.between, after);
}

// Computes `before`, the gradient of the stream before the block, from gradients.after.
template <class T>
void block_backward_input(context<T> const& c, stage_weights<T> const& weights,
                          gpt::block<float const> const& layers, block_stash<T> const& stash,
                          block_gradients<T> const& gradients, T* before) {
  linear_backward_input(c, weights, layers.down, gradients.after, gradients.up);
  gelu_backward(hidden_elements(c), stash.up, gradients.up, c.stream);
  linear_backward_input(c, weights, layers.up, gradients.up, gradients.norm2);
  norm_backward_input<T>(c, weights, layers.norm2, stash.between, stash.norm2, gradients.norm2,
                         gradients.after, gradients.between);
  T* const merged = c.scratch().merged;
  linear_backward_input(c, weights, layers.projection, gradients.between, merged);
  causal_attention_backward<T>(attention_of(c.model), stash.qkv, stash.merged, stash.exponent, merged,
                               c.scratch().along, gradients.qkv, c.stream);
  linear_backward_input(c, weights, layers.qkv, gradients.qkv, gradients.norm1);
  norm_backward_input<T>(c, weights, layers.norm1, stash.before, stash.norm1, gradients.norm1,
                         gradients.between, before);
}

// Adds to the gradient of the parameters.
template <class T>
void block_backward_weight(context<T> const& c, gpt::block<float> const& sum,
                           block_stash<T> const& stash, block_gradients<T> const& gradients) {
  linear_backward_weight<T>(c, sum.down, stash.hidden, gradients.after);
  linear_backward_weight<T>(c, sum.up, stash.norm2.output, gradients.up);
  norm_backward_weight<T>(c, sum.norm2, stash.between, stash.norm2, gradients.norm2);
  linear_backward_weight<T>(c, sum.projection, stash.merged, gradients.between);
  linear_backward_weight<T>(c, sum.qkv, stash.norm1.output, gradients.qkv);
  norm_backward_weight<T>(c, sum.norm1, stash.before, stash.norm1, gradients.norm1);
}

}  // namespace gpt_cuda
