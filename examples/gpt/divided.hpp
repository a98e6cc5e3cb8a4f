// A block's forward without a stash: its two halves each take the sequences of a micro-batch in parts,
// one part after the other in the same workspace.
#pragma once

#include "block.hpp"
#include "config.hpp"
#include "tensor.hpp"

#include <cstddef>
#include <span>
#include <stdexcept>

namespace gpt {

template <class Scalar>
struct attention_workspace {
  layer_norm_stash<Scalar> norm1;
  matrix<Scalar> qkv, attention, merged;

  attention_workspace(carver<Scalar>& from, config const& part)
      : norm1(from, part.rows(), part.width),
        qkv(from.take(part.rows(), 3 * part.width)),
        attention(from.take(part.sequences * part.heads * part.context, part.context)),
        merged(from.take(part.rows(), part.width)) {}
};

template <class Scalar>
struct mlp_workspace {
  layer_norm_stash<Scalar> norm2;
  matrix<Scalar> slope, hidden;

  mlp_workspace(carver<Scalar>& from, config const& part)
      : norm2(from, part.rows(), part.width),
        slope(from.take(part.rows(), part.hidden())),
        hidden(from.take(part.rows(), part.hidden())) {}
};

enum class block_half : unsigned char { attention, mlp };

// The model on this many sequences at once.
inline config part_of(config shape, int sequences) {
  shape.sequences = sequences;
  return shape;
}

// Elements of workspace for this many sequences at once.
template <class Scalar>
std::size_t workspace_of(config const& shape, block_half half, int sequences) {
  carver<Scalar> measure;
  config const part = part_of(shape, sequences);
  if (half == block_half::attention)
    attention_workspace<Scalar>(measure, part);
  else
    mlp_workspace<Scalar>(measure, part);
  return measure.used();
}

// One half of a block on the residual stream, rows x width: parts[i] sequences at a time. A sequence
// gets the same bits in any part. Throws std::length_error if the workspace is too small.
template <class Scalar>
void forward_in_parts(config const& shape, block<Scalar const> const& weights, block_half half,
                      std::span<int const> parts, matrix<Scalar> const& stream,
                      std::span<Scalar> workspace) {
  int row = 0;
  for (int sequences : parts) {
    if (workspace_of<Scalar>(shape, half, sequences) > workspace.size())
      throw std::length_error("the workspace is too small for the parts");
    config const part = part_of(shape, sequences);
    carver<Scalar> from(workspace.data());
    matrix<Scalar> const rows = stream.block(row, 0, part.rows(), shape.width);
    if (half == block_half::attention)
      weights.forward_attention(part, attention_workspace<Scalar>(from, part), rows);
    else
      weights.forward_mlp(mlp_workspace<Scalar>(from, part), rows);
    row += part.rows();
  }
}

}  // namespace gpt
