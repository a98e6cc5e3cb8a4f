// A transformer block: x += projection(attention(norm1(x))), then x += down(gelu(up(norm2(x)))), or what
// experts make of norm2(x).
#pragma once

#include "arithmetic.hpp"
#include "attention.hpp"
#include "config.hpp"
#include "experts.hpp"
#include "gelu.hpp"
#include "layer_norm.hpp"
#include "linear.hpp"
#include "tensor.hpp"

#include <cmath>
#include <string>

namespace gpt {

// Matrices that the forward pass keeps: the inputs of the linear layers, and what the input gradients
// need besides weights.
template <class Scalar>
struct block_stash {
  layer_norm_stash<Scalar> norm1;
  matrix<Scalar> qkv;        // rows x 3 width
  matrix<Scalar> attention;  // (sequences heads context) x context
  matrix<Scalar> merged;     // rows x width
  layer_norm_stash<Scalar> norm2;
  matrix<Scalar> slope;   // rows x hidden: of the activation
  matrix<Scalar> hidden;  // rows x hidden: after the activation
  experts_stash<Scalar> experts;

  block_stash(carver<Scalar>& from, config const& shape)
      : norm1(from, shape.rows(), shape.width),
        qkv(from.take(shape.rows(), 3 * shape.width)),
        attention(from.take(shape.sequences * shape.heads * shape.context, shape.context)),
        merged(from.take(shape.rows(), shape.width)),
        norm2(from, shape.rows(), shape.width),
        slope(from.take(shape.mlp_rows(), shape.hidden())),
        hidden(from.take(shape.mlp_rows(), shape.hidden())),
        experts(from, shape) {}
};

// Matrices that the input gradient leaves for the weight gradient: the gradient of the output of every
// layer with weights.
template <class Scalar>
struct block_gradients {
  matrix<Scalar> norm1;
  matrix<Scalar> qkv;
  matrix<Scalar> projection;
  matrix<Scalar> norm2;
  matrix<Scalar> up;
  matrix<Scalar> down;
  experts_gradients<Scalar> experts;

  block_gradients(carver<Scalar>& from, config const& shape)
      : norm1(from.take(shape.rows(), shape.width)),
        qkv(from.take(shape.rows(), 3 * shape.width)),
        projection(from.take(shape.rows(), shape.width)),
        norm2(from.take(shape.rows(), shape.width)),
        up(from.take(shape.mlp_rows(), shape.hidden())),
        down(from.take(shape.rows(), shape.width)),
        experts(from, shape) {}
};

// Memory that a pass needs only while it runs.
template <class Scalar>
struct block_scratch {
  matrix<Scalar> merged;  // rows x width: the gradient of the merged heads
  matrix<Scalar> scores;  // context x context: the gradient of the scores of one head
  matrix<Scalar> row;     // 1 x width
  matrix<Scalar> sent;    // (rows chosen) x width: the gradient of what was sent to experts

  block_scratch(carver<Scalar>& from, config const& shape)
      : merged(from.take(shape.rows(), shape.width)),
        scores(from.take(shape.context, shape.context)),
        row(from.take(1, shape.width)),
        sent(from.take(shape.routed_rows() * shape.chosen, shape.width)) {}
};

// The parameters (Scalar const) or their gradient (Scalar), in the same layout. `stream` is the residual
// stream, or its gradient: rows x width.
template <class Scalar>
struct block {
  using value = std::remove_const_t<Scalar>;

  layer_norm<Scalar> norm1;
  linear<Scalar> qkv;
  linear<Scalar> projection;
  layer_norm<Scalar> norm2;
  linear<Scalar> up;
  linear<Scalar> down;
  expert_layer<Scalar> experts;

  block(carver<Scalar>& from, config const& shape)
      : norm1(from, shape.width),
        qkv(from, shape.width, 3 * shape.width),
        projection(from, shape.width, shape.width),
        norm2(from, shape.width),
        up(mlp(from, shape, shape.width, shape.hidden())),
        down(mlp(from, shape, shape.hidden(), shape.width)),
        experts(from, shape) {}

  void forward(config const& shape, block_stash<value> const& stash, matrix<value> const& stream) const {
    forward_attention(shape, stash, stream);
    if (shape.experts > 0) {
      norm2.forward(stream, stash.norm2);
      experts.join(stash.norm2.output, stash.experts, stream);
    } else {
      forward_mlp(stash, stream);
    }
  }

  // The first half, and the second without experts, with as much of a block_stash as each needs.
  void forward_attention(config const& shape, auto const& stash, matrix<value> const& stream) const {
    norm1.forward(stream, stash.norm1);
    qkv.forward(stash.norm1.output, stash.qkv);
    attend(shape, stash.qkv, stash.attention, stash.merged);
    projection.join(stash.merged, stream);
  }
  void forward_mlp(auto const& stash, matrix<value> const& stream) const {
    norm2.forward(stream, stash.norm2);
    up.forward(stash.norm2.output, stash.hidden);
    gelu(stash.hidden, stash.slope);
    down.join(stash.hidden, stream);
  }

  // The gradient of the stream after the block becomes the one before it.
  void backward_input(config const& shape, block_stash<value> const& stash,
                      block_gradients<value> const& gradients, block_scratch<value> const& scratch,
                      balancing<value> const& balance, matrix<value> const& stream) const {
    copy(stream, gradients.down);
    if (shape.experts > 0) {
      experts.backward_input(gradients.down, stash.experts, gradients.experts, balance, scratch.sent,
                             gradients.norm2);
    } else {
      down.backward_input(gradients.down, gradients.up);
      gelu_backward(stash.slope, gradients.up);
      up.backward_input(gradients.up, gradients.norm2);
    }
    norm2.backward_input(stash.norm2, gradients.norm2, stream, scratch.row.data);
    copy(stream, gradients.projection);
    projection.backward_input(gradients.projection, scratch.merged);
    attend_backward(shape, stash.qkv, stash.attention, scratch.merged, gradients.qkv, scratch.scores);
    qkv.backward_input(gradients.qkv, gradients.norm1);
    norm1.backward_input(stash.norm1, gradients.norm1, stream, scratch.row.data);
  }

  // Call it on the gradient.
  void backward_weight(block_stash<value> const& stash, block_gradients<value> const& gradients) const {
    if (experts.experts.size() > 0) {
      experts.backward_weight(stash.norm2.output, stash.experts, gradients.experts);
    } else {
      down.backward_weight(stash.hidden, gradients.down);
      up.backward_weight(stash.norm2.output, gradients.up);
    }
    norm2.backward_weight(stash.norm2, gradients.norm2);
    projection.backward_weight(stash.merged, gradients.projection);
    qkv.backward_weight(stash.norm1.output, gradients.qkv);
    norm1.backward_weight(stash.norm1, gradients.norm1);
  }

  // `blocks` is the number of blocks of the whole model: the layers that write to the stream start
  // smaller, so that its variance does not grow with their number.
  template <class F>
  void visit(std::string const& name, int blocks, F&& f) const {
    double const joining = 1 / std::sqrt(2.0 * blocks);
    norm1.visit(name + ".norm1", f);
    qkv.visit(name + ".qkv", 1, f);
    projection.visit(name + ".projection", joining, f);
    norm2.visit(name + ".norm2", f);
    if (experts.experts.size() > 0) {
      experts.visit(name, joining, f);
    } else {
      up.visit(name + ".up", 1, f);
      down.visit(name + ".down", joining, f);
    }
  }

 private:
  static linear<Scalar> mlp(carver<Scalar>& from, config const& shape, int inputs, int outputs) {
    return shape.experts > 0 ? linear<Scalar>() : linear<Scalar>(from, inputs, outputs);
  }
};

}  // namespace gpt
