// 1F1B: after a warm-up, one forward, one backward. Narayanan et al., PipeDream-Flush (2020); the eager
// variant with a doubled warm-up that hides transfers: Zhuang et al., On Optimizing the Communication of
// Model Parallelism (2022), section 4.
#pragma once

#include <ashlar/block.hpp>
#include <ashlar/ids.hpp>

namespace ashlar::catalog {

// Forwards go down and backwards come up without waiting; p - d micro-batches in flight on device d.
constexpr block one_f_one_b(devices p) {
  return make_block(linear(p), costs{}, 3, {pass_kind::forward, pass_kind::backward},
                    [=](pass_kind kind, int s) {
                      return tick{kind == pass_kind::forward ? s : p.value + 2 * (p.value - 1 - s)};
                    });
}

// A whole interval a hop in both directions: 2(p - d) - 1 micro-batches in flight on device d.
constexpr block eager_one_f_one_b(devices p) {
  return make_block(
      linear(p), costs{}, 3, {pass_kind::forward, pass_kind::backward}, [=](pass_kind kind, int s) {
        return tick{kind == pass_kind::forward ? 3 * s : 3 * (p.value - 1) + 1 + 3 * (p.value - 1 - s)};
      });
}

}  // namespace ashlar::catalog
