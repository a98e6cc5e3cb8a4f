// Weights in 3, 4 or 8 bits: groups of one column that share a scale and an offset, put back into full
// numbers right before their product.
#pragma once

#include "batch.hpp"
#include "block.hpp"
#include "config.hpp"
#include "loss.hpp"
#include "stage.hpp"
#include "tensor.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpt {

// Weights of a column that share a scale and an offset.
inline constexpr int quantisation_group = 32;

// Codes of `bits` bits, packed; each stands for offset + code * scale of its group, so that the least
// and the largest weight of a group are kept. (Round to nearest, as Dettmers et al. and LLM-PQ have it.)
template <class Scalar>
class quantised_matrix {
 public:
  quantised_matrix(matrix<Scalar const> const& m, int bits)
      : rows_(m.rows),
        cols_(m.cols),
        bits_(bits),
        codes_((m.size() * static_cast<std::size_t>(bits) + 7) / 8 + 1, std::uint8_t{}) {
    Scalar const top = static_cast<Scalar>((1 << bits) - 1);
    for (int j = 0; j < cols_; ++j)
      for (int first = 0; first < rows_; first += quantisation_group) {
        int const last = std::min(first + quantisation_group, rows_);
        Scalar low = m(first, j), high = low;
        for (int i = first; i < last; ++i) low = std::min(low, m(i, j)), high = std::max(high, m(i, j));
        group const g{static_cast<float>((high - low) / top), static_cast<float>(low)};
        groups_.push_back(g);
        for (int i = first; i < last; ++i) {
          Scalar const code = g.scale > 0 ? std::round((m(i, j) - low) / g.scale) : Scalar{};
          put(i, j, static_cast<unsigned>(std::clamp(code, Scalar{}, top)));
        }
      }
  }

  // Bytes that it takes in place of the matrix.
  std::size_t bytes() const { return codes_.size() + groups_.size() * sizeof(group); }

  void expand(matrix<Scalar> const& m) const {
    std::size_t const groups_of_column =
        static_cast<std::size_t>((rows_ + quantisation_group - 1) / quantisation_group);
    for (int i = 0; i < rows_; ++i)
      for (int j = 0; j < cols_; ++j) {
        group const& g = groups_[static_cast<std::size_t>(j) * groups_of_column
                                 + static_cast<std::size_t>(i / quantisation_group)];
        m(i, j) = static_cast<Scalar>(g.offset)
                  + static_cast<Scalar>(get(i, j)) * static_cast<Scalar>(g.scale);
      }
  }

 private:
  struct group {
    float scale, offset;
  };

  std::size_t bit_of(int i, int j) const {
    return (static_cast<std::size_t>(i) * static_cast<std::size_t>(cols_) + static_cast<std::size_t>(j))
           * static_cast<std::size_t>(bits_);
  }
  // A code may straddle two bytes; there is one to spare at the end.
  void put(int i, int j, unsigned code) {
    std::size_t const bit = bit_of(i, j);
    unsigned const shifted = code << (bit % 8);
    codes_[bit / 8] = static_cast<std::uint8_t>(codes_[bit / 8] | (shifted & 0xffU));
    codes_[bit / 8 + 1] = static_cast<std::uint8_t>(codes_[bit / 8 + 1] | (shifted >> 8U));
  }
  unsigned get(int i, int j) const {
    std::size_t const bit = bit_of(i, j);
    unsigned const both = codes_[bit / 8] | (static_cast<unsigned>(codes_[bit / 8 + 1]) << 8U);
    return (both >> (bit % 8)) & ((1U << static_cast<unsigned>(bits_)) - 1);
  }

  int rows_, cols_, bits_;
  std::vector<std::uint8_t> codes_;
  std::vector<group> groups_;  // by column, then group
};

// The matrices of a block that are quantised, each with its own number of bits.
template <class Scalar>
std::vector<matrix<Scalar>> products_of(block<Scalar> const& b) {
  return {b.qkv.weight, b.projection.weight, b.up.weight, b.down.weight};
}

// The matrices that stay as they are.
template <class Scalar>
std::vector<matrix<Scalar>> others_of(block<Scalar> const& b) {
  return {b.norm1.gain, b.norm1.bias, b.norm2.gain, b.norm2.bias,
          b.qkv.bias,   b.up.bias,    b.down.bias,  b.projection.bias};
}

template <class Scalar>
class quantised_block {
 public:
  // `bits`: one number for each of products_of().
  quantised_block(block<Scalar const> const& weights, std::span<int const> bits) {
    std::size_t i = 0;
    for (matrix<Scalar const> const& m : products_of(weights)) products_.emplace_back(m, bits[i++]);
    for (matrix<Scalar const> const& m : others_of(weights))
      others_.insert(others_.end(), m.flat().begin(), m.flat().end());
  }

  void expand(block<Scalar> const& into) const {
    std::size_t i = 0;
    for (matrix<Scalar> const& m : products_of(into)) products_[i++].expand(m);
    auto from = others_.begin();
    for (matrix<Scalar> const& m : others_of(into)) {
      std::copy_n(from, m.size(), m.data);
      from += static_cast<std::ptrdiff_t>(m.size());
    }
  }

  // Bytes of each product.
  std::vector<std::size_t> bytes() const {
    std::vector<std::size_t> each;
    for (quantised_matrix<Scalar> const& m : products_) each.push_back(m.bytes());
    return each;
  }

 private:
  std::vector<quantised_matrix<Scalar>> products_;
  std::vector<Scalar> others_;
};

// A whole model whose blocks are quantised: embedding and head are those of the model that it is made
// of, and have to outlive it. Besides the codes it has memory for one block in full.
template <class Scalar>
class quantised_model {
 public:
  static constexpr int products_of_block = 4;

  // `bits` by block, then product. `weights` are those of a model in one stage.
  quantised_model(config const& shape, std::span<Scalar const> weights, std::span<int const> bits)
      : shape_(shape_of(shape, 0)),
        ends_(parameters(shape_, weights)),
        stash_(elements_of<stage_stash<Scalar>, Scalar>(shape_)) {
    for (int b = 0; b < shape.blocks; ++b)
      blocks_.emplace_back(ends_.blocks[b], bits.subspan(static_cast<std::size_t>(b) * products_of_block,
                                                         products_of_block));
    carver<Scalar> measure;
    block<Scalar>(measure, shape);
    expanded_ = array<Scalar>(measure.used());
  }

  // The mean loss of a micro-batch in nats.
  double loss(std::span<token const> inputs, std::span<token const> targets) const {
    carver<Scalar> from(stash_.data());
    stage_stash<Scalar> const stash(from, shape_);
    ends_.embedding.forward(inputs, stash.stream);
    for (quantised_block<Scalar> const& b : blocks_) {
      carver<Scalar> at(expanded_.data());
      b.expand(block<Scalar>(at, shape_.model));
      carver<Scalar const> read(expanded_.data());
      block<Scalar const>(read, shape_.model).forward(shape_.model, stash.blocks[0], stash.stream);
    }
    ends_.norm.forward(stash.stream, stash.norm);
    ends_.head.forward(stash.norm.output, stash.probabilities);
    return cross_entropy(stash.probabilities, targets);
  }

  // Bytes of each product of each block.
  std::vector<std::size_t> bytes() const {
    std::vector<std::size_t> all;
    for (quantised_block<Scalar> const& b : blocks_)
      for (std::size_t each : b.bytes()) all.push_back(each);
    return all;
  }

  static stage_parameters<Scalar const> parameters(stage_shape const& shape,
                                                   std::span<Scalar const> weights) {
    carver<Scalar const> from(weights.data());
    return {from, shape};
  }

 private:
  stage_shape shape_;
  stage_parameters<Scalar const> ends_;
  std::vector<quantised_block<Scalar>> blocks_;
  array<Scalar> stash_, expanded_;
};

// The mean loss over the micro-batches of a batch.
template <class Scalar>
double loss_of(quantised_model<Scalar> const& model, config const& shape, batch const& tokens) {
  double sum = 0;
  auto const rows = static_cast<std::size_t>(shape.rows());
  for (std::size_t m = 0; m < static_cast<std::size_t>(shape.micro_batches); ++m)
    sum += model.loss(std::span(tokens.inputs).subspan(m * rows, rows),
                      std::span(tokens.targets).subspan(m * rows, rows));
  return sum / shape.micro_batches;
}

}  // namespace gpt
