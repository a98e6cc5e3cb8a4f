// One stage: its parameters, what its passes keep, and the passes themselves.
#pragma once

#include "block.hpp"
#include "config.hpp"
#include "embedding.hpp"
#include "head.hpp"
#include "layer_norm.hpp"
#include "loss.hpp"
#include "prediction.hpp"
#include "tensor.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

namespace gpt {

// The parameters of a stage (Scalar const) or their gradient (Scalar), in the same layout. What is tied
// lies elsewhere.
template <class Scalar>
struct stage_parameters {
  gpt::embedding<Scalar> embedding;  // first stage; its part of a shard, or of the stage after shards
  repeated<block<Scalar>, Scalar, config> blocks;
  layer_norm<Scalar> norm;  // last stage, or the last before the shards of the head
  gpt::head<Scalar> head;   // last stage, or its part of a shard; the prediction layer's, all tied
  repeated<prediction_layer<Scalar>, Scalar, config> prediction;  // where the prediction layer is

  stage_parameters(carver<Scalar>& from, stage_shape const& shape, tied_ends<Scalar> const& tied = {})
      : embedding(shape.has_embedding() ? gpt::embedding<Scalar>(
                      from, shape.model, tied.tokens, shape.embedding_tokens(), !shape.is_input_shard())
                                        : gpt::embedding<Scalar>()),
        blocks(from, shape.model, shape.blocks),
        norm(shape.has_norm() ? layer_norm<Scalar>(from, shape.model.width) : layer_norm<Scalar>()),
        head(shape.last || shape.is_shard() || shape.is_prediction()
                 ? gpt::head<Scalar>(from, shape.model, tied, shape.head_tokens())
                 : gpt::head<Scalar>()),
        prediction(from, shape.model, shape.predicts() ? 1 : 0) {}

  // Calls f(tensor_description, matrix) for each tensor of the stage's own, in an order and under names
  // that do not depend on how the model is cut into stages.
  template <class F>
  void visit(stage_shape const& shape, F&& f) const {
    if (shape.has_embedding()) embedding.visit("embedding", shape.model, f);
    for (int i = 0; i < shape.blocks; ++i) {
      blocks[i].visit("block " + std::to_string(shape.first_block + i), shape.model.blocks, f);
    }
    if (shape.has_norm()) norm.visit("norm", f);
    if (shape.last || shape.is_shard()) head.visit("head", shape.model, f);
    if (shape.predicts()) prediction[0].visit(shape.model.blocks, f);
  }
};

// Matrices that backward_input leaves for backward_weight.
template <class Scalar>
struct stage_gradients {
  matrix<Scalar> embedding;  // where the embedding or its places are: rows x width
  repeated<block_gradients<Scalar>, Scalar, config> blocks;
  matrix<Scalar> norm;  // where the final norm is: rows x width
  matrix<Scalar> head;  // last stage only: rows x vocabulary
  repeated<prediction_gradients<Scalar>, Scalar, config> prediction;

  // `room`: the blocks whose gradients are kept at once.
  stage_gradients(carver<Scalar>& from, stage_shape const& shape, int room)
      : embedding(shape.has_embedding() ? from.take(shape.model.rows(), shape.model.width)
                                        : matrix<Scalar>()),
        blocks(from, shape.model, room),
        norm(shape.has_norm() ? from.take(shape.model.rows(), shape.model.width) : matrix<Scalar>()),
        head(shape.last ? from.take(shape.model.rows(), vocabulary) : matrix<Scalar>()),
        prediction(from, shape.model, shape.predicts() ? 1 : 0) {}
  stage_gradients(carver<Scalar>& from, stage_shape const& shape)
      : stage_gradients(from, shape, shape.blocks) {}
};

// Matrices that forward keeps until the weight gradient is done, then the scratch memory of all passes.
template <class Scalar>
struct stage_stash {
  repeated<block_stash<Scalar>, Scalar, config> blocks;
  layer_norm_stash<Scalar> norm;  // where the final norm is
  matrix<Scalar> probabilities;   // last stage only: rows x vocabulary
  repeated<prediction_stash<Scalar>, Scalar, config> prediction;
  matrix<Scalar> stream;  // rows x width: the residual stream, then its gradient; not of prediction
  block_scratch<Scalar> scratch;
  // A fused backward uses up the gradients of a block before it makes the next: room for one block is
  // enough.
  stage_gradients<Scalar> gradients;

  stage_stash(carver<Scalar>& from, stage_shape const& shape)
      : blocks(from, shape.model, shape.blocks),
        norm(shape.has_norm() ? layer_norm_stash<Scalar>(from, shape.model.rows(), shape.model.width)
                              : layer_norm_stash<Scalar>()),
        probabilities(shape.last ? from.take(shape.model.rows(), vocabulary) : matrix<Scalar>()),
        prediction(from, shape.model, shape.predicts() ? 1 : 0),
        stream(shape.is_prediction() ? matrix<Scalar>()
                                     : from.take(shape.model.rows(), shape.model.width)),
        scratch(from, shape.model),
        gradients(from, shape, std::min(shape.blocks, 1)) {}
};

// Elements that a group of matrices takes.
template <class Layout, class Scalar>
std::size_t elements_of(stage_shape const& shape) {
  carver<Scalar> measure;
  Layout const layout(measure, shape);
  return measure.used();
}

struct stage_losses {
  double next = 0;        // token
  double after_next = 0;  // of the prediction layer, if there is one
};

// Computes the output (null where none goes on from it) from the input (rows x width; unused by the
// first stage; after shards of the embedding their sum, in the stream). Returns the losses of the
// micro-batch that this stage has, else 0.
template <class Scalar>
stage_losses stage_forward(stage_shape const& shape, stage_parameters<Scalar const> const& weights,
                           stage_stash<Scalar> const& stash, std::span<token const> inputs,
                           std::span<token const> targets, Scalar const* input, Scalar* output) {
  if (shape.is_prediction())
    return {0,
            weights.prediction[0].forward(
                shape.model, weights.head, stash.prediction[0], targets,
                matrix<Scalar const>{input, shape.model.rows(), shape.model.width, shape.model.width})};
  std::size_t const size = stash.stream.size();
  if (!shape.first && input != stash.stream.data) std::copy_n(input, size, stash.stream.data);
  if (shape.has_embedding()) weights.embedding.forward(inputs, stash.stream);
  for (int i = 0; i < shape.blocks; ++i) {
    weights.blocks[i].forward(shape.model, stash.blocks[i], stash.stream);
  }
  if (shape.has_norm()) weights.norm.forward(stash.stream, stash.norm);
  if (output != nullptr)
    std::copy_n(shape.feeds_shards ? stash.norm.output.data : stash.stream.data, size, output);
  if (!shape.last) return {};
  weights.head.forward(stash.norm.output, stash.probabilities);
  stage_losses losses{cross_entropy(stash.probabilities, targets)};
  if (shape.predicts())
    losses.after_next = weights.prediction[0].forward(shape.model, weights.head, stash.prediction[0],
                                                      targets, stash.stream);
  return losses;
}

// The number of tokens of a micro-batch that each expert got.
template <class Scalar>
std::span<Scalar const> counts_of_block(stage_stash<Scalar> const& stash, int block) {
  return stash.blocks[block].experts.counts.flat();
}

// Inputs and outputs of the loss that spreads tokens over experts, in a stage's backward.
struct stage_balance {
  std::span<double const> counts = {};  // by block of the stage and expert; empty: a micro-batch's own
  std::span<double> losses = {};        // by block of the stage, to write; empty without experts
};

// The gradients that a backward pass computes.
struct backward_parts {
  bool input = false;
  bool weight = false;
};

// Computes the gradient of the input, that of the weights, or both. `up` are the gradients of the
// output, of each stage after it (none before shards of the head, where it is in gradients.norm), `down`
// that of the input (null at the first stage), `sum` the accumulated weight gradient (unused without the
// weight part). `gradients` passes from the input part to the weight part; if it has room for one block
// only, both parts must run together.
template <class Scalar>
void stage_backward(stage_shape const& shape, backward_parts parts,
                    stage_parameters<Scalar const> const& weights, stage_stash<Scalar> const& stash,
                    stage_gradients<Scalar> const& gradients, std::span<token const> inputs,
                    std::span<token const> targets, std::span<Scalar const* const> up, Scalar* down,
                    stage_parameters<Scalar> const& sum, Scalar loss_scale = 1,
                    stage_balance const& balance = {}) {
  auto const add_to_stream = [&](Scalar const* from) {
    for (std::size_t i = 0; i < stash.stream.size(); ++i) stash.stream.data[i] += from[i];
  };
  if (parts.input && shape.predicts()) {
    weights.prediction[0].backward_input(shape.model, weights.head, stash.prediction[0],
                                         gradients.prediction[0], stash.scratch, targets,
                                         loss_scale * static_cast<Scalar>(shape.model.prediction)
                                             / (static_cast<Scalar>(shape.predicted_tokens())
                                                * static_cast<Scalar>(shape.model.data_ranks)));
    if (shape.is_prediction())
      std::copy_n(stash.prediction[0].stream.data, stash.prediction[0].stream.size(), down);
  }
  // The prediction layer comes before the head, as where it has its own stage.
  if (parts.weight && shape.predicts())
    sum.prediction[0].backward_weight(sum.head, stash.prediction[0], gradients.prediction[0], targets);
  if (shape.is_prediction()) return;
  std::size_t const size = stash.stream.size();
  auto const experts = static_cast<std::size_t>(shape.model.experts);
  if (parts.input) {
    if (shape.last) {
      // The gradient is that of the mean loss of the step, over all ranks: every row counts one part in
      // the number of its tokens, times the loss's scale.
      cross_entropy_backward(
          stash.probabilities, targets,
          loss_scale / (static_cast<Scalar>(shape.tokens) * static_cast<Scalar>(shape.model.data_ranks)),
          gradients.head);
      weights.head.backward_input(gradients.head, gradients.norm);
    }
    if (shape.has_norm()) {
      std::fill_n(stash.stream.data, size, Scalar{});
      weights.norm.backward_input(stash.norm, gradients.norm, stash.stream, stash.scratch.row.data);
      if (shape.predicts()) add_to_stream(stash.prediction[0].stream.data);
    } else {
      std::copy_n(up.front(), size, stash.stream.data);
      up = up.subspan(1);
    }
    for (Scalar const* const one : up) add_to_stream(one);
  }
  if (parts.weight && shape.last) sum.head.backward_weight(stash.norm.output, gradients.head);
  if (parts.weight && shape.has_norm()) sum.norm.backward_weight(stash.norm, gradients.norm);
  for (int i = shape.blocks - 1; i >= 0; --i) {
    auto const kept = stash.blocks[i];
    auto const made = gradients.blocks[gradients.blocks.size() == shape.blocks ? i : 0];
    if (parts.input) {
      auto const block = static_cast<std::size_t>(i);
      balancing<Scalar> const own{
          balance.counts.empty() ? balance.counts : balance.counts.subspan(block * experts, experts),
          shape.model.balance * static_cast<double>(loss_scale)
              / (shape.model.micro_batches * shape.model.data_ranks),
          balance.losses.empty() ? nullptr : &balance.losses[block]};
      weights.blocks[i].backward_input(shape.model, kept, made, stash.scratch, own, stash.stream);
    }
    if (parts.weight) sum.blocks[i].backward_weight(kept, made);
  }
  if (parts.input && shape.has_embedding())
    std::copy_n(stash.stream.data, size, gradients.embedding.data);
  if (parts.input && down != nullptr) std::copy_n(stash.stream.data, size, down);
  if (parts.weight && shape.has_embedding()) sum.embedding.backward_weight(inputs, gradients.embedding);
}

}  // namespace gpt
