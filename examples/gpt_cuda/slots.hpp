// The contents of a stage's slots on a GPU.
#pragma once

#include "element.hpp"

#include <gpt/config.hpp>
#include <gpt/tensor.hpp>

#include <cstddef>

namespace gpt_cuda {

// Every array is carved out of bytes and starts a cache line.
using carver = gpt::carver<std::byte>;

template <class T>
T* take(carver& from, int rows, int cols) {
  return reinterpret_cast<T*>(from.take(rows, cols * static_cast<int>(sizeof(T))).data);
}

// Arrays of a layer norm; others keep its input.
template <class T>
struct norm_stash {
  float* mean = nullptr;     // by row
  float* inverse = nullptr;  // by row: 1 / standard deviation
  T* output = nullptr;       // rows x width

  norm_stash() = default;
  norm_stash(carver& from, gpt::config const& shape)
      : mean(take<float>(from, 1, shape.rows())),
        inverse(take<float>(from, 1, shape.rows())),
        output(take<T>(from, shape.rows(), shape.width)) {}
};

// Arrays that the forward pass of a block keeps. Attention keeps the logarithm of the sum of
// exponentials of each row of scores: the scores themselves cost more to keep than to make again.
template <class T>
struct block_stash {
  T* before;  // rows x width: the residual stream
  norm_stash<T> norm1;
  T* qkv;           // rows x 3 width
  float* exponent;  // sequences x heads x context
  T* merged;        // rows x width
  T* between;       // rows x width: the stream after attention
  norm_stash<T> norm2;
  T* up;      // rows x hidden: before the activation
  T* hidden;  // rows x hidden: after it

  block_stash(carver& from, gpt::config const& shape)
      : before(take<T>(from, shape.rows(), shape.width)),
        norm1(from, shape),
        qkv(take<T>(from, shape.rows(), 3 * shape.width)),
        exponent(take<float>(from, shape.heads, shape.rows())),
        merged(take<T>(from, shape.rows(), shape.width)),
        between(take<T>(from, shape.rows(), shape.width)),
        norm2(from, shape),
        up(take<T>(from, shape.rows(), shape.hidden())),
        hidden(take<T>(from, shape.rows(), shape.hidden())) {}
};

template <class T>
struct stage_stash {
  gpt::repeated<block_stash<T>, std::byte, gpt::config> blocks;
  T* last = nullptr;    // last stage only: the stream after all blocks, rows x width
  norm_stash<T> norm;   // last stage only
  T* logits = nullptr;  // last stage only: their gradient, rows x vocabulary

  stage_stash(carver& from, gpt::stage_shape const& shape) : blocks(from, shape.model, shape.blocks) {
    if (!shape.last) return;
    last = take<T>(from, shape.model.rows(), shape.model.width);
    norm = norm_stash<T>(from, shape.model);
    logits = take<T>(from, shape.model.rows(), gpt::vocabulary);
  }
};

// Arrays that the input gradient of a block leaves for the weight gradient: the gradient of the output
// of every layer with weights.
template <class T>
struct block_gradients {
  T* after;    // rows x width: of the stream after the block
  T* up;       // rows x hidden
  T* norm2;    // rows x width
  T* between;  // rows x width: of the stream after attention
  T* qkv;      // rows x 3 width
  T* norm1;    // rows x width

  block_gradients(carver& from, gpt::config const& shape)
      : after(take<T>(from, shape.rows(), shape.width)),
        up(take<T>(from, shape.rows(), shape.hidden())),
        norm2(take<T>(from, shape.rows(), shape.width)),
        between(take<T>(from, shape.rows(), shape.width)),
        qkv(take<T>(from, shape.rows(), 3 * shape.width)),
        norm1(take<T>(from, shape.rows(), shape.width)) {}
};

// A block's gradient of the stream before it is the one after the block before, and lies there.
template <class T>
struct stage_gradients {
  T* first = nullptr;  // first stage only: of the embedding's output, rows x width
  gpt::repeated<block_gradients<T>, std::byte, gpt::config> blocks;
  T* norm = nullptr;  // last stage only: of the last norm's output, rows x width

  // `room`: the blocks whose gradients are kept at once, block i in place i modulo room.
  stage_gradients(carver& from, gpt::stage_shape const& shape, int room)
      : first(shape.first ? take<T>(from, shape.model.rows(), shape.model.width) : nullptr),
        blocks(from, shape.model, room),
        norm(shape.last ? take<T>(from, shape.model.rows(), shape.model.width) : nullptr) {}
  stage_gradients(carver& from, gpt::stage_shape const& shape)
      : stage_gradients(from, shape, shape.blocks) {}

  // The place of the gradient of the stream before block i + 1, if it has one here.
  T* after(int i) const { return i < 0 ? first : blocks[i % blocks.size()].after; }
};

// Bytes that a group of arrays takes.
template <class Layout, class Shape>
std::size_t bytes_of(Shape const& shape) {
  carver measure;
  Layout const layout(measure, shape);
  return measure.used();
}

}  // namespace gpt_cuda
