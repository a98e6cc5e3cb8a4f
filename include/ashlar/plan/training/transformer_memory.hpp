// Bytes that a transformer layer keeps from its forward to its backward, and of its weights and
// optimizer state. Korthikanti, Casper, Lym, McAfee, Andersch, Shoeybi, Catanzaro: Reducing Activation
// Recomputation in Large Transformer Models (2022), section 4, equations 1 to 6.
#pragma once

namespace ashlar {

// What a backward runs again.
enum class recomputation : unsigned char {
  none,
  attention,  // of the scores and what is made of them: the published "selective"
  full,       // of whole layers; only their inputs are kept
};

// Layers as they are split over the tensor ranks.
struct split_layer {
  double hidden = 0;
  double feed_forward = 0;
  double heads = 0;
  double sequence = 0;  // tokens
  int tensor = 1;
  bool sequence_parallel = false;  // what every tensor rank would hold is split along the sequence
};

// Bytes a token: of what every tensor rank holds and of what they split, each as multiples of the hidden
// size; of the hidden layer, as a multiple of the feed-forward size; and of the scores of attention, as
// a multiple of heads x sequence. The defaults are the paper's: 16-bit values, masks of a byte, GeLU,
// dropout.
struct kept_widths {
  double whole = 10;
  double split = 8;
  double feed_forward = 4;
  double scores = 5;
  double input = 2;  // of a layer, which is all that is kept where layers are run again

  // For values of this many bytes in place of 2; nothing else is kept.
  kept_widths of_values(double bytes) const {
    double const f = bytes / 2;
    return {f * whole, f * split, f * feed_forward, f * scores, f * input};
  }
};

// Bytes of one layer and micro-batch of this many samples on each tensor rank.
double kept_bytes(split_layer const& l, double samples, recomputation again = recomputation::none,
                  kept_widths const& w = {});

// Bytes a parameter that mixed-precision training with Adam keeps: 16-bit weights, 32-bit gradients, and
// 32-bit weights and two moments. Weights of 32 bits need no others.
struct parameter_bytes {
  double weight = 2;
  double gradient = 4;
  double optimizer = 12;

  double all() const { return weight + gradient + optimizer; }
};
inline parameter_bytes bytes_of_parameter(double value_bytes) {
  return {value_bytes, 4, value_bytes < 4 ? 12.0 : 8.0};
}

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/plan/training/transformer_memory.ipp>
#endif
