// V-Half: half the activations of 1F1B on the V-shaped placement.
// Qi, Wan, Amar, Lin: Pipeline Parallelism with Controllable Memory (2024), section 3 and appendix.
#pragma once

#include <ashlar/block_algebra.hpp>
#include <ashlar/ids.hpp>

namespace ashlar::catalog {

// Device i hosts stages i and 2p-1-i. The forward moves a device in two ticks going down and in one
// coming up, the backward the other way about; each turn waits as long as it must for the six passes of
// a device to differ modulo 6.
constexpr block v_half(devices p) {
  return make_block(v_shape(p), costs{}, 6, {pass_kind::forward, pass_kind::backward_input},
                    [=](pass_kind kind, int stage) {
                      int const d = p.value, extra = d % 2 == 0 ? 3 : 0;
                      bool const down = stage < d;
                      int const i = down ? stage : 2 * d - 1 - stage;  // the device
                      if (kind == pass_kind::forward) return tick{down ? 2 * i : 3 * d - 2 - i};
                      return tick{down ? 6 * d - 2 + extra - i : 3 * d - 1 + extra + 2 * i};
                    })
         | weights_in_first_gaps();
}

}  // namespace ashlar::catalog
