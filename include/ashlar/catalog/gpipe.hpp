// GPipe: all forwards, then all backwards. Huang et al., GPipe (2019), figure 2.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/core/ids.hpp>

namespace ashlar::catalog {

// The first backward waits until the last of the m micro-batches has gone forward.
constexpr block gpipe(devices p, micro_batches m) {
  return make_block(
      linear(p), costs{}, 3, {pass_kind::forward, pass_kind::backward}, [=](pass_kind kind, int s) {
        return kind == pass_kind::forward ? tick{s}
                                          : 3 * tick{m.value} + p.value - 3 + 2 * (p.value - 1 - s);
      });
}

}  // namespace ashlar::catalog
