// Hanayo: every micro-batch runs down and up the devices in w waves, forward, then in w waves backward.
// Liu, Cheng, Zhou, You: Hanayo, Harnessing Wave-like Pipeline Parallelism (2023), section 3.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/catalog/shape.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/ids.hpp>

namespace ashlar::catalog {

// Hanayo is for at least one wave; each has two stages of a device.
constexpr diagnosis check_waves(shape const& s) {
  return check_count(s, parameter::wave_count, s.w.value, 2);
}

// The order is that of the picture in which all passes take one step: a wave down and up the p devices
// takes 2p steps, micro-batches follow each other two steps apart (a device is on the way down in one,
// on the way up in the other), and wave n + 1 begins when the last of the m micro-batches has left wave
// n's first stage, or its first has left the last stage: 2 max(m, p) steps later. The backward goes
// through the waves of the reversed stages the same way.
// A step is as long as the work of a device in one wave's step both forward and backward, one tick and
// two for each wave; wave n has the n-th place in it, so that passes of different waves do not collide
// however often the block repeats.
constexpr block hanayo(devices p, waves w, micro_batches m) {
  must_be(check_waves({.p = p, .m = m, .w = w}));
  tick const step = 3 * tick{w.value}, turn = 2 * tick{p.value};
  return make_block(wave(p, w), costs{}, 2 * step, {pass_kind::forward, pass_kind::backward},
                    [=](pass_kind kind, int stage) {
                      bool const forward = kind == pass_kind::forward;
                      tick const at = forward ? stage : turn * w.value - 1 - stage;
                      tick const n = at / turn + (forward ? 0 : w.value);
                      tick const place = forward ? n : 2 * n - w.value;
                      return step * (2 * n * max_of(m.value, p.value) + at % turn) + place;
                    });
}

}  // namespace ashlar::catalog
