// Causal attention: products by the library, the softmax between them by a kernel.
//
// One sequence after the other, all heads of it in a batch: its scores then stay in the cache of a large
// GPU, and the library's products run on its tensor cores at the speed of the machine. A kernel that
// never writes the scores down would save that traffic and half of the products (what lies above the
// diagonal is computed here, and thrown away); cuDNN has such kernels, which a program that has cuDNN
// should use. One of our own would have to be written for each kind of GPU to be as fast as the library.
#pragma once

#include "kernels/softmax.hpp"
#include "layers.hpp"
#include "matmul.hpp"
#include "slots.hpp"

#include <gpt/config.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace gpt_cuda {

namespace attention_detail {

// Of one sequence: its rows of queries, keys and values (thirds of `qkv`) and of `merged`.
template <class T>
struct heads {
  context<T> const& c;

  int width() const { return c.model.width; }
  int each() const { return c.model.head_width(); }
  int tokens() const { return c.model.context; }

  // A head's columns in a matrix with so many thirds of width columns.
  factor in_rows(int parts, bool transposed = false) const {
    return {parts * width(), transposed, each()};
  }
  factor in_scores(bool transposed = false) const {
    return {tokens(), transposed, static_cast<std::int64_t>(tokens()) * tokens()};
  }
  T* third(T* qkv, int sequence, int part) const {
    return qkv + static_cast<std::ptrdiff_t>(sequence) * tokens() * 3 * width() + part * width();
  }
  T* rows_of(T* merged, int sequence) const {
    return merged + static_cast<std::ptrdiff_t>(sequence) * tokens() * width();
  }
  float scale() const { return 1 / std::sqrt(static_cast<float>(each())); }

  // scores = a b', where both have a head in each `each()` columns.
  void scores(factor a, factor b, T const* left, T const* right, float* out) const {
    b.transposed = true;
    c.multiply({.rows = tokens(),
                .cols = tokens(),
                .depth = each(),
                .left = a,
                .right = b,
                .out = in_scores(),
                .batch = c.model.heads},
               left, right, nullptr, nullptr, out);
  }
  // out = weights b, or weights' b.
  void weigh(T const* weights, bool transposed, factor b, T const* right, factor out_form,
             T* out) const {
    c.multiply({.rows = tokens(),
                .cols = each(),
                .depth = tokens(),
                .left = in_scores(transposed),
                .right = b,
                .out = out_form,
                .out_type = cuda_type<T>,
                .batch = c.model.heads},
               weights, right, nullptr, nullptr, out);
  }
};

}  // namespace attention_detail

// merged from qkv; what the backward pass needs, to exponent.
template <class T>
void attend(context<T> const& c, T* qkv, float* exponent, T* merged) {
  attention_detail::heads<T> const of{c};
  auto const& scratch = c.scratch().attention;
  factor const thirds = of.in_rows(3), whole = of.in_rows(1);
  for (int s = 0; s < c.model.sequences; ++s) {
    of.scores(thirds, thirds, of.third(qkv, s, 0), of.third(qkv, s, 1), scratch.scores);
    causal_softmax(c.model.heads, c.model.context, of.scale(), scratch.scores, scratch.weights,
                   exponent + static_cast<std::ptrdiff_t>(s) * c.model.heads * c.model.context,
                   c.stream);
    of.weigh(scratch.weights, false, thirds, of.third(qkv, s, 2), whole, of.rows_of(merged, s));
  }
}

// dqkv from dmerged.
template <class T>
void attend_backward(context<T> const& c, T* qkv, float const* exponent, T* dmerged, T* dqkv) {
  attention_detail::heads<T> const of{c};
  auto const& scratch = c.scratch().attention;
  factor const thirds = of.in_rows(3), whole = of.in_rows(1);
  for (int s = 0; s < c.model.sequences; ++s) {
    T* const up = of.rows_of(dmerged, s);
    of.scores(thirds, thirds, of.third(qkv, s, 0), of.third(qkv, s, 1), scratch.scores);
    of.scores(whole, thirds, up, of.third(qkv, s, 2), scratch.gradient);
    causal_softmax_backward(c.model.heads, c.model.context, of.scale(), scratch.scores,
                            exponent + static_cast<std::ptrdiff_t>(s) * c.model.heads * c.model.context,
                            scratch.gradient, scratch.weights, scratch.dscores, c.stream);
    of.weigh(scratch.weights, true, whole, up, thirds, of.third(dqkv, s, 2));
    of.weigh(scratch.dscores, false, thirds, of.third(qkv, s, 1), thirds, of.third(dqkv, s, 0));
    of.weigh(scratch.dscores, true, thirds, of.third(qkv, s, 0), thirds, of.third(dqkv, s, 1));
  }
}

}  // namespace gpt_cuda
