// A prediction layer: it predicts the token after the next from the trunk's stream and the next token,
// as DeepSeek-V3's multi-token prediction does (DeepSeek-AI, 2024, section 2.2). It shares embedding and
// head with the model, which ties both. It is in the stage of the model's head, or in one of its own
// after that.
//
// x = [norm(stream), norm(embedding of the next token)] W + b;  block;  norm;  the model's head
//
// The last token of a sequence has no token after the next one: its row counts for nothing.
#pragma once

#include "arithmetic.hpp"
#include "block.hpp"
#include "config.hpp"
#include "embedding.hpp"
#include "head.hpp"
#include "layer_norm.hpp"
#include "linear.hpp"
#include "loss.hpp"
#include "tensor.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

namespace gpt {

// Matrices that the forward pass keeps, and the layer's stream, which the backward pass turns into its
// gradient.
template <class Scalar>
struct prediction_stash {
  layer_norm_stash<Scalar> stream_norm, token_norm;
  matrix<Scalar> joined;  // rows x 2 width
  repeated<block_stash<Scalar>, Scalar, config> block;
  layer_norm_stash<Scalar> norm;
  matrix<Scalar> probabilities;  // rows x vocabulary
  matrix<Scalar> stream;  // rows x width; after the backward pass, the gradient of the trunk's stream

  prediction_stash(carver<Scalar>& from, config const& shape)
      : stream_norm(from, shape.rows(), shape.width),
        token_norm(from, shape.rows(), shape.width),
        joined(from.take(shape.rows(), 2 * shape.width)),
        block(from, shape, 1),
        norm(from, shape.rows(), shape.width),
        probabilities(from.take(shape.rows(), vocabulary)),
        stream(from.take(shape.rows(), shape.width)) {}
};

// Matrices that the input gradient leaves for the weight gradient.
template <class Scalar>
struct prediction_gradients {
  matrix<Scalar> tokens;  // rows x width: of the next token's embedding
  matrix<Scalar> joined;  // rows x 2 width
  matrix<Scalar> join;    // rows x width
  repeated<block_gradients<Scalar>, Scalar, config> block;
  matrix<Scalar> norm;  // rows x width
  matrix<Scalar> head;  // rows x vocabulary

  prediction_gradients(carver<Scalar>& from, config const& shape)
      : tokens(from.take(shape.rows(), shape.width)),
        joined(from.take(shape.rows(), 2 * shape.width)),
        join(from.take(shape.rows(), shape.width)),
        block(from, shape, 1),
        norm(from.take(shape.rows(), shape.width)),
        head(from.take(shape.rows(), vocabulary)) {}
};

// The parameters (Scalar const) or their gradient (Scalar), in the same layout. `both_ends` is the
// model's head, whose matrix is the embedding of the tokens, too.
template <class Scalar>
struct prediction_layer {
  using value = std::remove_const_t<Scalar>;

  layer_norm<Scalar> stream_norm, token_norm;
  linear<Scalar> join;
  gpt::block<Scalar> block;
  layer_norm<Scalar> norm;

  prediction_layer(carver<Scalar>& from, config const& shape)
      : stream_norm(from, shape.width),
        token_norm(from, shape.width),
        join(from, 2 * shape.width, shape.width),
        block(from, shape),
        norm(from, shape.width) {}

  // `next`: the token after each; `trunk`: the stream after the model's last block. Returns the mean
  // loss over all tokens that have one after the next.
  double forward(config const& shape, head<Scalar> const& both_ends,
                 prediction_stash<value> const& stash, std::span<token const> next,
                 matrix<value const> const& trunk) const {
    int const width = shape.width;
    for (int i = 0; i < shape.rows(); ++i)
      std::copy_n(both_ends.weight.row(next[static_cast<std::size_t>(i)]), width, stash.stream.row(i));
    stream_norm.forward(trunk, stash.stream_norm);
    token_norm.forward(stash.stream, stash.token_norm);
    copy(stash.stream_norm.output, stash.joined.block(0, 0, shape.rows(), width));
    copy(stash.token_norm.output, stash.joined.block(0, width, shape.rows(), width));
    join.forward(stash.joined, stash.stream);
    block.forward(shape, stash.block[0], stash.stream);
    norm.forward(stash.stream, stash.norm);
    both_ends.forward(stash.norm.output, stash.probabilities);
    double total = 0;
    for_each_sequence(shape, next, [&](int first, int rows, std::span<token const> targets) {
      total += cross_entropy(stash.probabilities.block(first, 0, rows, vocabulary), targets);
    });
    return total / shape.sequences;
  }

  // `scale`: the weight of a row's loss in the loss of the step. The gradient of the trunk's stream is
  // in the stash then: adding it to another rounds alike wherever the layer is.
  void backward_input(config const& shape, head<Scalar> const& both_ends,
                      prediction_stash<value> const& stash, prediction_gradients<value> const& gradients,
                      block_scratch<value> const& scratch, std::span<token const> next,
                      value scale) const {
    int const width = shape.width, rows = shape.rows();
    std::fill_n(gradients.head.data, gradients.head.size(), value{});
    for_each_sequence(shape, next, [&](int first, int count, std::span<token const> targets) {
      cross_entropy_backward(stash.probabilities.block(first, 0, count, vocabulary), targets, scale,
                             gradients.head.block(first, 0, count, vocabulary));
    });
    both_ends.backward_input(gradients.head, gradients.norm);
    std::fill_n(stash.stream.data, stash.stream.size(), value{});
    norm.backward_input(stash.norm, gradients.norm, stash.stream, scratch.row.data);
    block.backward_input(shape, stash.block[0], gradients.block[0], scratch, {}, stash.stream);
    copy(stash.stream, gradients.join);
    join.backward_input(gradients.join, gradients.joined);
    std::fill_n(gradients.tokens.data, gradients.tokens.size(), value{});
    token_norm.backward_input(stash.token_norm, gradients.joined.block(0, width, rows, width),
                              gradients.tokens, scratch.row.data);
    std::fill_n(stash.stream.data, stash.stream.size(), value{});
    stream_norm.backward_input(stash.stream_norm, gradients.joined.block(0, 0, rows, width),
                               stash.stream, scratch.row.data);
  }

  // Call it on the gradient; `both_ends` is the part of the model's head.
  void backward_weight(head<Scalar> const& both_ends, prediction_stash<value> const& stash,
                       prediction_gradients<value> const& gradients, std::span<token const> next) const {
    int const width = stash.stream.cols, rows = stash.stream.rows;
    both_ends.backward_weight(stash.norm.output, gradients.head);
    norm.backward_weight(stash.norm, gradients.norm);
    block.backward_weight(stash.block[0], gradients.block[0]);
    join.backward_weight(stash.joined, gradients.join);
    token_norm.backward_weight(stash.token_norm, gradients.joined.block(0, width, rows, width));
    stream_norm.backward_weight(stash.stream_norm, gradients.joined.block(0, 0, rows, width));
    for (int i = 0; i < rows; ++i) {  // a token that occurs twice gets its second part after its first
      value* const own = both_ends.weight.row(next[static_cast<std::size_t>(i)]);
      for (int j = 0; j < width; ++j) own[j] += gradients.tokens.row(i)[j];
    }
  }

  // `blocks`: of the whole model.
  template <class F>
  void visit(int blocks, F&& f) const {
    stream_norm.visit("prediction.stream_norm", f);
    token_norm.visit("prediction.token_norm", f);
    join.visit("prediction.join", 1, f);
    block.visit("prediction.block", blocks + 1, f);
    norm.visit("prediction.norm", f);
  }

 private:
  // Calls act(first row, rows, tokens after the next) for each sequence.
  template <class Act>
  static void for_each_sequence(config const& shape, std::span<token const> next, Act act) {
    for (int s = 0; s < shape.sequences; ++s) {
      int const first = s * shape.context, count = shape.context - 1;
      act(first, count,
          next.subspan(static_cast<std::size_t>(first) + 1, static_cast<std::size_t>(count)));
    }
  }
};

}  // namespace gpt
