// Bytes that a transformer layer keeps from its forward to its backward, and of its weights and
// optimizer state. Korthikanti, Casper, Lym, McAfee, Andersch, Shoeybi, Catanzaro: Reducing Activation
// Recomputation in Large Transformer Models (2022), section 4, equations 1 to 6.
#pragma once

#include <ashlar/core/language.hpp>

namespace formulas {

// The parts that a backward recomputes.
enum class recomputation : unsigned char {
  none,
  attention,  // the scores and the values made of them: the published "selective"
  full,       // whole layers; only their inputs are kept
};

// Sizes of a layer that is split over tensor ranks.
struct split_layer {
  double hidden = 0;
  double feed_forward = 0;
  double heads = 0;
  double sequence = 0;  // tokens
  int tensor = 1;
  bool sequence_parallel = false;  // splits along the sequence what every tensor rank would hold
};

// Bytes per token: of values that every tensor rank holds and of split ones, each as multiples of the
// hidden size; of the hidden layer, as a multiple of the feed-forward size; and of the scores of
// attention, as a multiple of heads x sequence. The defaults are the paper's: 16-bit values, masks of a
// byte, GeLU, dropout.
struct kept_widths {
  double whole = 10;
  double split = 8;
  double feed_forward = 4;
  double scores = 5;
  double input = 2;  // of a layer; all that recomputed layers keep

  // Widths for values of this many bytes instead of 2, without masks.
  kept_widths of_values(double bytes) const {
    double const f = bytes / 2;
    return {f * whole, f * split, f * feed_forward, f * scores, f * input};
  }
};

// Bytes of one layer and micro-batch of this many samples on each tensor rank.
inline double kept_bytes(split_layer const& l, double samples, recomputation again = recomputation::none,
                         kept_widths const& w = {}) {
  double const tokens = samples * l.sequence, ranks = l.tensor;
  double const whole = tokens * l.hidden / (l.sequence_parallel ? ranks : 1);
  if (again == recomputation::full) return w.input * tokens * l.hidden;
  double const scores = again == recomputation::none ? w.scores * l.heads * l.sequence : 0;
  return w.whole * whole
         + tokens * (w.split * l.hidden + w.feed_forward * l.feed_forward + scores) / ranks;
}

// Bytes per parameter in mixed-precision training with Adam: 16-bit weights, 32-bit gradients, and
// 32-bit weights and two moments. 32-bit weights need no copies.
struct parameter_bytes {
  double weight = 2;
  double gradient = 4;
  double optimizer = 12;

  double all() const { return weight + gradient + optimizer; }
};
inline parameter_bytes bytes_of_parameter(double value_bytes) {
  return {value_bytes, 4, value_bytes < 4 ? 12.0 : 8.0};
}

}  // namespace formulas
