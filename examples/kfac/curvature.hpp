// The curvature of linear layers as K-FAC has it (Martens, Grosse, arXiv 1503.05671): Kronecker factors,
// their inverses, and a gradient between them.
#pragma once

#include "gpt/arithmetic.hpp"
#include "gpt/block.hpp"
#include "gpt/config.hpp"
#include "gpt/stage.hpp"
#include "gpt/tensor.hpp"
#include "kfac/inverse.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace kfac {

// The linear layers of a block in the order of its tensors: qkv, projection, up, down.
inline constexpr int layers_of_block = 4;

struct layer_shape {
  int inputs = 0, outputs = 0;
};

inline layer_shape shape_of_layer(gpt::config const& shape, int layer) {
  int const width = shape.width, hidden = shape.hidden();
  std::array<layer_shape, layers_of_block> const all{
      {{width, 3 * width}, {width, width}, {width, hidden}, {hidden, width}}};
  return all[static_cast<std::size_t>(layer % layers_of_block)];
}

// Sums over tokens of the outer products: of a layer's input, with a 1 after it for the bias, and of the
// gradient of its output. Both are lower halves; the last element of `inputs` counts the tokens.
template <class Scalar>
struct layer_sums {
  gpt::matrix<Scalar> inputs;
  gpt::matrix<Scalar> gradients;

  layer_sums(gpt::carver<Scalar>& from, layer_shape shape)
      : inputs(from.take(shape.inputs + 1, shape.inputs + 1)),
        gradients(from.take(shape.outputs, shape.outputs)) {}
};

template <class Scalar>
struct block_sums {
  std::array<layer_sums<Scalar>, layers_of_block> layers;

  block_sums(gpt::carver<Scalar>& from, gpt::config const& shape)
      : layers{{{from, shape_of_layer(shape, 0)},
                {from, shape_of_layer(shape, 1)},
                {from, shape_of_layer(shape, 2)},
                {from, shape_of_layer(shape, 3)}}} {}
};

template <class Scalar>
struct stage_sums {
  gpt::repeated<block_sums<Scalar>, Scalar, gpt::config> blocks;

  stage_sums(gpt::carver<Scalar>& from, gpt::stage_shape const& shape)
      : blocks(from, shape.model, shape.blocks) {}
};

// Factors of the layers' weight gradients: a row for each token.
template <class Scalar>
std::array<gpt::matrix<Scalar>, layers_of_block> inputs_of(gpt::block_stash<Scalar> const& kept) {
  return {kept.norm1.output, kept.merged, kept.norm2.output, kept.hidden};
}
template <class Scalar>
std::array<gpt::matrix<Scalar>, layers_of_block> gradients_of(gpt::block_gradients<Scalar> const& made) {
  return {made.qkv, made.projection, made.up, made.down};
}

// Adds the tokens of a micro-batch: what its forward keeps, and what its backward makes.
template <class Scalar>
void add(stage_sums<Scalar> const& sums, gpt::stage_stash<Scalar> const& stash) {
  for (int block = 0; block < sums.blocks.size(); ++block) {
    auto const inputs = inputs_of(stash.blocks[block]);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      gpt::matrix<Scalar> const x = inputs[i], sum = sums.blocks[block].layers[i].inputs;
      gpt::add_product(sum.block(0, 0, x.cols, x.cols), gpt::transposed(x), gpt::plain(x));
      gpt::add_rows(x, sum.block(x.cols, 0, 1, x.cols));
      sum(x.cols, x.cols) += static_cast<Scalar>(x.rows);
    }
  }
}
template <class Scalar>
void add(stage_sums<Scalar> const& sums, gpt::stage_gradients<Scalar> const& made) {
  for (int block = 0; block < sums.blocks.size(); ++block) {
    auto const gradients = gradients_of(made.blocks[block]);
    for (std::size_t i = 0; i < gradients.size(); ++i)
      gpt::add_product(sums.blocks[block].layers[i].gradients, gpt::transposed(gradients[i]),
                       gpt::plain(gradients[i]));
  }
}

struct curvature_options {
  double decay = 0.9;     // of the factors' averages over updates
  double damping = 1e-5;  // of the whole curvature, split between its factors (section 6.3)
};

// Curvature of a layer: averages of its factors, and their damped inverses.
template <class Scalar>
class layer_curvature {
 public:
  explicit layer_curvature(layer_shape shape) : inputs_(shape.inputs + 1), gradients_(shape.outputs) {}

  // Moves the averages by the sums, and inverts them. The gradients in the sums are those of the mean
  // loss over `tokens`; the factor is that of the loss of one. Throws as invert() does.
  void refresh(layer_sums<Scalar> const& sums, int tokens, curvature_options const& o) {
    // The average begins with the first sums, not with zeros.
    double const kept = std::min(1 - 1.0 / ++refreshes_, o.decay), all = tokens;
    double const rows = sums.inputs(sums.inputs.rows - 1, sums.inputs.cols - 1);
    inputs_.move(sums.inputs, kept, (1 - kept) / rows);
    gradients_.move(sums.gradients, kept, (1 - kept) * all * all / rows);
    double const a = inputs_.mean_of_diagonal(), b = gradients_.mean_of_diagonal();
    double const balance = b > 0 ? std::sqrt(a / b) : 1, root = std::sqrt(o.damping);
    inputs_.invert(root * balance);
    gradients_.invert(root / balance);
  }

  // Puts the gradient, with that of the bias in the last row, between the inverses. Throws
  // std::logic_error if there are none yet.
  void precondition(gpt::matrix<Scalar> const& gradient, gpt::matrix<Scalar> const& result) const {
    if (refreshes_ == 0) throw std::logic_error("K-FAC has no curvature yet: no program summed it");
    gpt::array<Scalar> memory(gradient.size());
    gpt::matrix<Scalar> const half{memory.data(), gradient.rows, gradient.cols, gradient.cols};
    gpt::set_product(half, gpt::plain(inputs_.inverse()), gpt::plain(gradient));
    gpt::set_product(result, gpt::plain(half), gpt::plain(gradients_.inverse()));
  }

 private:
  class factor {
   public:
    explicit factor(int size)
        : size_(size),
          average_(static_cast<std::size_t>(size * size)),
          inverse_(static_cast<std::size_t>(size * size)) {}

    void move(gpt::matrix<Scalar> const& sum, double kept, double scale) {
      for (std::size_t i = 0; i < average_.size(); ++i)
        average_.data()[i] = kept * average_.data()[i] + scale * static_cast<double>(sum.data[i]);
    }
    double mean_of_diagonal() const {
      double trace = 0;
      for (int i = 0; i < size_; ++i) trace += square(average_)(i, i);
      return trace / size_;
    }
    void invert(double damping) {
      gpt::array<double> exact(average_.size());
      kfac::invert(square(average_), damping, square(exact));
      std::transform(exact.data(), exact.data() + exact.size(), inverse_.data(),
                     [](double x) { return static_cast<Scalar>(x); });
    }
    gpt::matrix<Scalar> inverse() const { return square(inverse_); }

   private:
    template <class Value>
    gpt::matrix<Value> square(gpt::array<Value> const& values) const {
      return {values.data(), size_, size_, size_};
    }

    int size_;
    gpt::array<double> average_;
    gpt::array<Scalar> inverse_;
  };

  factor inputs_, gradients_;
  int refreshes_ = 0;
};

}  // namespace kfac
