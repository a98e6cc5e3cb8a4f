// Shared parts of the attention kernels: which head of which sequence, and how wide it is.
#pragma once

#include "attention.hpp"
#include <ashlar/cuda/launch.hpp>

#include <cmath>
#include <type_traits>

namespace gpt_cuda {

inline float scale_of(attention_shape const& s) {
  return 1 / std::sqrt(static_cast<float>(s.head_width));
}

// Calls act(std::integral_constant<int, D>). D: channels of a head, rounded up to the next power of two
// from Least on, for which there are kernels.
template <int Least, class Act>
void with_room_for(int head_width, Act act) {
  if constexpr (Least < widest_head)
    if (head_width > Least) return with_room_for<2 * Least>(head_width, act);
  act(std::integral_constant<int, Least>{});
}

// A grid with one block of threads for each `rows` rows of a head of a sequence.
inline ashlar::cuda::grid attention_grid(attention_shape const& s, int rows) {
  return {(s.context + rows - 1) / rows, s.heads, s.sequences};
}

// The rows of a head, `pitch` elements apart, from the first of its sequence on.
template <class T>
struct head_rows {
  T* first;
  int pitch, count, width;

  ASHLAR_DEVICE T* from(int row) const { return first + static_cast<long long>(row) * pitch; }
};

// The place of a head of a sequence in matrices of rows x parts x heads x head_width, and in arrays of
// sequences x heads x context.
struct head_place {
  attention_shape shape;
  int head, sequence;

  ASHLAR_DEVICE explicit head_place(attention_shape const& s)
      : shape(s), head(ashlar::cuda::block_y()), sequence(ashlar::cuda::block_z()) {}
  ASHLAR_DEVICE int pitch(int parts) const { return parts * shape.heads * shape.head_width; }
  ASHLAR_DEVICE long long in_rows(int parts, int part, int row) const {
    return (static_cast<long long>(sequence) * shape.context + row) * pitch(parts)
           + (static_cast<long long>(part) * shape.heads + head) * shape.head_width;
  }
  template <class T>
  ASHLAR_DEVICE head_rows<T> rows(T* of, int parts, int part) const {
    return {of + in_rows(parts, part, 0), pitch(parts), shape.context, shape.head_width};
  }
  ASHLAR_DEVICE long long in_list(int row) const {
    return (static_cast<long long>(sequence) * shape.heads + head) * shape.context + row;
  }
};

}  // namespace gpt_cuda
