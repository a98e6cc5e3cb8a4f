// GEMS: two micro-batches in opposite directions, hardly overlapping, for the least memory. Jain et al.,
// GEMS: GPU-Enabled Memory-Aware Model-Parallelism System for Distributed DNN Training (2020),
// section 4.
#pragma once

#include <ashlar/block/algebra.hpp>
#include <ashlar/catalog/shape.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/repeat.hpp>

namespace ashlar::catalog {

// One micro-batch down and back, then one up and back: it sets out where the first one's backward turns
// last, on the device that is free first. No device ever holds two.
constexpr block gems(devices p) {
  tick const period = 2 * tick{p.value} + 1;
  block const down =
      make_block(linear(p), costs{}, 2 * period, {pass_kind::forward, pass_kind::backward},
                 [=](pass_kind kind, int s) {
                   return tick{kind == pass_kind::forward ? s : p.value + 2 * (p.value - 1 - s)};
                 });
  return overlay(down, shift(mirror(down), period));
}

// Any number of micro-batches, even an odd one.
constexpr schedule gems(devices p, micro_batches m) {
  must_be(check_shape({.p = p, .m = m}));
  return gems(p) | repeat(micro_batches{m.value + m.value % 2}) | take(m);
}

}  // namespace ashlar::catalog
