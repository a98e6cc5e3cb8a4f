// Inference: micro-batches stream through the stages and drain. The forward half of GPipe: Huang et al.,
// GPipe (2019), figure 2.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/core/ids.hpp>

namespace ashlar::catalog {

// No backward, so nothing is kept; what a device holds are the outputs on their way.
constexpr block inference(devices p) {
  block b =
      make_block(linear(p), costs{}, 1, {pass_kind::forward}, [](pass_kind, int s) { return tick{s}; });
  b.mode = execution_mode::inference;
  return b;
}

}  // namespace ashlar::catalog
