// 1F1B: after a warm-up, one forward, one backward. Narayanan et al., PipeDream-Flush (2020); the eager
// variant with a doubled warm-up that hides transfers: Zhuang et al., On Optimizing the Communication of
// Model Parallelism (2022), section 4.
#pragma once

#include <ashlar/block/algebra.hpp>
#include <ashlar/core/ids.hpp>

namespace ashlar::catalog {

// Forwards go down and backwards come up without waiting; p - d micro-batches in flight on device d.
constexpr block one_f_one_b(devices p) {
  return make_block(linear(p), costs{}, 3, {pass_kind::forward, pass_kind::backward},
                    [=](pass_kind kind, int s) {
                      return tick{kind == pass_kind::forward ? s : p.value + 2 * (p.value - 1 - s)};
                    });
}

// Only the inputs of the stages are kept, and each forward runs once more before its backward (Chen et
// al., Training Deep Nets with Sublinear Memory Cost, 2016). As a recompute needs no gradient, the order
// lets it run while the device waits for one.
constexpr block one_f_one_b_recompute(devices p) { return one_f_one_b(p) | recompute(); }

// A whole interval a hop in both directions: 2(p - d) - 1 micro-batches in flight on device d.
constexpr block eager_one_f_one_b(devices p) {
  return make_block(
      linear(p), costs{}, 3, {pass_kind::forward, pass_kind::backward}, [=](pass_kind kind, int s) {
        return tick{kind == pass_kind::forward ? 3 * s : 3 * (p.value - 1) + 1 + 3 * (p.value - 1 - s)};
      });
}

}  // namespace ashlar::catalog
