// ZB-H2: no bubble for twice the memory of 1F1B. Qi, Wan, Huang, Lin: Zero Bubble Pipeline Parallelism
// (2023), section 2.3.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/core/ids.hpp>

namespace ashlar::catalog {

// Twice the warm-up of ZB-H1: 2(p - d) - 1 forwards before the first backward of device d, and every
// device frees a micro-batch 2p - 1 intervals after its forward. Bubble max(0, (p - 1)(f + b - 2w)),
// memory 2p - 1.
constexpr block zb_h2(devices p) {
  return make_block(linear(p), costs{}, 3,
                    {pass_kind::forward, pass_kind::backward_input, pass_kind::backward_weight},
                    [=](pass_kind kind, int s) {
                      if (kind == pass_kind::forward) return tick{2 * s};
                      if (kind == pass_kind::backward_input)
                        return tick{2 * p.value - 1 + 4 * (p.value - 1 - s)};
                      return tick{2 * s + 3 * (2 * p.value - 1) - 1};
                    });
}

}  // namespace ashlar::catalog
