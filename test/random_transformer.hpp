// Small random transformers, whose plans are few enough to try them all.
#pragma once

#include "random.hpp"
#include <ashlar/plan/training/transformer.hpp>

namespace random_case {

inline ashlar::transformer random_transformer(dice& d, int most_layers) {
  double const hidden = 8 * d.between(1, 3);
  return {.layers = d.between(2, most_layers),
          .hidden = hidden,
          .feed_forward = 4 * hidden,
          .heads = 4,
          .vocabulary = 1.0 * d.between(1, 400),
          .sequence = 4.0 * d.between(1, 6)};
}

}  // namespace random_case
