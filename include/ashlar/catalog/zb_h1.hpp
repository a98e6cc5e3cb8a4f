// ZB-H1: 1F1B with the backward split, the weight passes late enough to fill the bubble and early enough
// to hold no more than 1F1B's p micro-batches. Qi, Wan, Huang, Lin: Zero Bubble Pipeline Parallelism
// (2023), section 2.2.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/core/ids.hpp>

namespace ashlar::catalog {

// Every device frees a micro-batch exactly p intervals after its forward: bubble (p - 1)(f + b - w),
// memory p.
constexpr block zb_h1(devices p) {
  return make_block(linear(p), costs{}, 3,
                    {pass_kind::forward, pass_kind::backward_input, pass_kind::backward_weight},
                    [=](pass_kind kind, int s) {
                      if (kind == pass_kind::forward) return tick{s};
                      if (kind == pass_kind::backward_input)
                        return tick{p.value + 2 * (p.value - 1 - s)};
                      return tick{s + 3 * p.value - 1};
                    });
}

}  // namespace ashlar::catalog
