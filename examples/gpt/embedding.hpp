// Token and position embedding: row i of the output is the sum of a learned row for the token and one
// for its place. It may be a part: a shard of the tokens, or the places alone.
#pragma once

#include "config.hpp"
#include "linear.hpp"
#include "tensor.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace gpt {

using token = std::uint8_t;

template <class Scalar>
struct embedding {
  using value = std::remove_const_t<Scalar>;

  token_range own;
  matrix<Scalar> tokens;     // own tokens x width
  matrix<Scalar> positions;  // context x width; none in a shard

  embedding() = default;
  // `tied`: the memory of the tokens, if the head uses them, too. The tokens are those of a shard, or
  // none where they are in shards elsewhere.
  embedding(carver<Scalar>& from, config const& shape, matrix<Scalar> const& tied, token_range of = {},
            bool has_positions = true)
      : own(of),
        tokens(shape.tied ? tied : from.take(of.count, shape.width)),
        positions(has_positions ? from.take(shape.context, shape.width) : matrix<Scalar>()) {}

  // Adds the positions to the sum of the shards if it has no tokens of its own.
  void forward(std::span<token const> input, matrix<value> const& y) const {
    for (int i = 0; i < y.rows; ++i) {
      value* const out = y.row(i);
      if (value const* const what = row_of(tokens, input, i); what != nullptr)
        std::copy_n(what, y.cols, out);
      else if (tokens.rows > 0)
        std::fill_n(out, y.cols, value{});
      if (positions.rows == 0) continue;
      value const* const where = positions.row(i % positions.rows);
      for (int j = 0; j < y.cols; ++j) out[j] += where[j];
    }
  }

  // Call it on the gradient. It goes row by row: a token that occurs twice always gets its second
  // part after its first.
  void backward_weight(std::span<token const> input, matrix<value const> const& dy) const {
    for (int i = 0; i < dy.rows; ++i) {
      value const* const up = dy.row(i);
      if (value* const what = row_of(tokens, input, i); what != nullptr)
        for (int j = 0; j < dy.cols; ++j) what[j] += up[j];
      if (positions.rows == 0) continue;
      value* const where = positions.row(i % positions.rows);
      for (int j = 0; j < dy.cols; ++j) where[j] += up[j];
    }
  }

  // Calls f(tensor_description, matrix) for each tensor that is its own.
  template <class F>
  void visit(std::string const& name, config const& shape, F&& f) const {
    if (!shape.tied && tokens.rows > 0)
      f(tensor_description{name + ".tokens", 0, 0.1, {own.first, own.count, vocabulary}}, tokens);
    if (positions.rows > 0) f(tensor_description{name + ".positions", 0, 0.1}, positions);
  }

 private:
  // The row of the token at this place; null if it is not in `own`.
  Scalar* row_of(matrix<Scalar> const& of, std::span<token const> input, int i) const {
    int const wanted = input[static_cast<std::size_t>(i)];
    return own.has(wanted) ? of.row(wanted - own.first) : nullptr;
  }
};

}  // namespace gpt
