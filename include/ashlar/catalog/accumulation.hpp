// Not a pipeline: one device runs the whole model in v chunks and adds up the gradients of m
// micro-batches. Lamy-Poirier: Breadth-First Pipeline Parallelism (2022), section 3.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/catalog/breadth_first.hpp>
#include <ashlar/core/ids.hpp>

namespace ashlar::catalog {

// Micro-batch after micro-batch, each through the whole model and back: v activations held, nothing
// reused between micro-batches but the weights.
constexpr block depth_first_accumulation(chunks v) {
  return make_block(looped(devices{1}, v), costs{}, 3 * tick{v.value},
                    {pass_kind::forward, pass_kind::backward}, [=](pass_kind kind, int c) {
                      return kind == pass_kind::forward ? tick{c} : v.value + 2 * tick{v.value - 1 - c};
                    });
}

// Chunk after chunk, each for all micro-batches: every weight is used in one go forward and one
// backward, and m v activations are held. It is breadth-first on one device.
constexpr block breadth_first_accumulation(chunks v, micro_batches m) {
  return breadth_first(devices{1}, v, m);
}

}  // namespace ashlar::catalog
