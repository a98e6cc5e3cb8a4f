// The passes of one stage on a stream, as in gpt/stage.hpp.
#pragma once

#include "block.hpp"
#include "kernels/embedding.hpp"
#include "kernels/loss.hpp"
#include "layers.hpp"
#include "slots.hpp"
#include "weights.hpp"

#include <gpt/config.hpp>
#include <gpt/embedding.hpp>
#include <gpt/stage.hpp>

#include <cstddef>

namespace gpt_cuda {

// The tokens of a micro-batch, and its loss, in the GPU's memory.
struct tokens_of {
  gpt::token const* inputs;
  gpt::token const* targets;
  double* loss;
};

// Computes the logits from the last norm's output, and loss and gradient of the logits at once.
template <class T>
void head_forward(context<T> const& c, stage_weights<T> const& weights, stage_stash<T> const& stash,
                  tokens_of const& tokens) {
  int const width = c.model.width;
  float* logits = c.scratch().logits;
  norm(c, weights, weights.tensors.norm, stash.last, stash.norm);
  product_shape const shape{.rows = c.rows(),
                            .cols = gpt::vocabulary,
                            .depth = width,
                            .left = {width},
                            .right = {width, true},
                            .out = {gpt::vocabulary}};
  c.multiply(shape, stash.norm.output, weights.head(), nullptr, nullptr, logits);
  // The gradient is that of the mean loss of the step, over all ranks: every row counts one part in the
  // number of its tokens.
  float const scale =
      1 / (static_cast<float>(c.model.tokens()) * static_cast<float>(c.model.data_ranks));
  cross_entropy(c.rows(), gpt::vocabulary, logits, weights(weights.tensors.head.bias), tokens.targets,
                scale, stash.logits, c.scratch().row_losses, tokens.loss, c.stream);
}

// Computes the output (null: nobody needs it) from the input (unused by the first stage); both rows x
// width.
template <class T>
void stage_forward(context<T> const& c, gpt::stage_shape const& shape, stage_weights<T> const& weights,
                   stage_stash<T> const& stash, tokens_of const& tokens, T const* input, T* output) {
  T* const end = shape.last ? stash.last : output;
  T* const begin = shape.blocks > 0 ? stash.blocks[0].before : end;
  if (begin != nullptr) {
    if (shape.first)
      embed(c.rows(), c.model.width, c.model.context, tokens.inputs, weights.embedding(),
            weights(weights.tensors.embedding.positions), begin, c.stream);
    else
      copy_stream(c, input, begin);
  }
  for (int i = 0; i < shape.blocks; ++i)
    block_forward(c, weights, weights.tensors.blocks[i], stash.blocks[i],
                  i + 1 < shape.blocks ? stash.blocks[i + 1].before : end);
  if (shape.last) head_forward(c, weights, stash, tokens);
}

// Writes the gradient of the stage's output to `to`: the last stage's is its loss's, others' is `up`.
template <class T>
void enter_backward(context<T> const& c, gpt::stage_shape const& shape, stage_weights<T> const& weights,
                    stage_stash<T> const& stash, stage_gradients<T> const& gradients, T const* up,
                    T* to) {
  if (!shape.last) return copy_stream(c, up, to);
  int const width = c.model.width;
  c.multiply({.rows = c.rows(),
              .cols = width,
              .depth = gpt::vocabulary,
              .left = {gpt::vocabulary},
              .right = {width},
              .out = {width},
              .out_type = cuda_type<T>},
             stash.logits, weights.head(), nullptr, nullptr, gradients.norm);
  norm_backward_input<T>(c, weights, weights.tensors.norm, stash.last, stash.norm, gradients.norm,
                         nullptr, to);
}

// Computes the gradient of the input, that of the weights, or both, as gpt::stage_backward. `up` is the
// gradient of the output (unused by the last stage), `down` that of the input (unused by the first).
template <class T>
void stage_backward(context<T> const& c, gpt::stage_shape const& shape, gpt::backward_parts parts,
                    stage_weights<T> const& weights, stage_stash<T> const& stash,
                    stage_gradients<T> const& gradients, tokens_of const& tokens, T const* up, T* down,
                    gpt::stage_parameters<float> const& sum) {
  auto const before = [&](int block) {
    return block > 0 || shape.first ? gradients.after(block - 1) : down;
  };
  if (parts.input) enter_backward(c, shape, weights, stash, gradients, up, before(shape.blocks));
  if (parts.weight && shape.last) {
    add_product_over_rows(c, gpt::vocabulary, c.model.width, stash.logits, stash.norm.output,
                          sum.head.weight.data);
    add_bias_gradient(c, gpt::vocabulary, stash.logits, sum.head.bias.data);
    norm_backward_weight<T>(c, sum.norm, stash.last, stash.norm, gradients.norm);
  }
  for (int i = shape.blocks - 1; i >= 0; --i) {
    auto const kept = stash.blocks[i];
    auto const made = gradients.blocks[i % gradients.blocks.size()];
    if (parts.input) block_backward_input(c, weights, weights.tensors.blocks[i], kept, made, before(i));
    if (parts.weight) block_backward_weight(c, sum.blocks[i], kept, made);
  }
  if (parts.weight && shape.first)
    embed_backward<T>(c.rows(), c.model.width, c.model.context, tokens.inputs, gradients.first,
                      sum.embedding.tokens.data, sum.embedding.positions.data, c.stream);
}

}  // namespace gpt_cuda
