// The building blocks on the V-shaped placement: device i hosts stages i and 2p-1-i. Qi, Wan, Amar, Lin:
// Pipeline Parallelism with Controllable Memory (2024), section 3 and appendix.
//
// Down and up are the two chunks of a device: a micro-batch goes forward down the devices and up again,
// and its backward retraces that way. Each block says how long a hop takes in each of the four legs and
// how long the turns wait, so that the passes of a device differ modulo the interval of six.
#pragma once

#include <ashlar/block/algebra.hpp>
#include <ashlar/core/ids.hpp>

namespace ashlar::catalog {

// The starts of device i: of its two forwards in the order of a micro-batch, then of its two backwards.
struct v_starts {
  tick forward_down, forward_up, backward_down, backward_up;
};

// starts(i) -> v_starts of device i. The backward that goes down the devices is that of the upper chunk.
template <class Starts>
constexpr block v_block(devices p, pass_kind backward, Starts starts) {
  return make_block(v_shape(p), costs{}, 6, {pass_kind::forward, backward},
                    [=](pass_kind kind, int stage) {
                      bool const first = stage < p.value;
                      v_starts const at = starts(first ? stage : 2 * p.value - 1 - stage);
                      if (kind == pass_kind::forward) return first ? at.forward_down : at.forward_up;
                      return first ? at.backward_up : at.backward_down;
                    });
}

// V-Min: no hop waits, hence the shortest lifespans: 2 floor((p+4)/3) chunk activations, a third of
// 1F1B. Where 3 divides p the backward waits two ticks at its start: the legs would meet.
constexpr block v_min(devices p) {
  tick const d = p.value, wait = d % 3 == 0 ? 2 : 0;
  return v_block(p, pass_kind::backward_input,
                 [=](tick i) {
                   return v_starts{i, 2 * d - 1 - i, 2 * d + wait + i, 4 * d + wait - 1 - i};
                 })
         | weights_in_first_gaps();
}

// V-Half: a hop takes two ticks in the first half of the forward and of the backward, one in the second:
// 2 floor((p+2)/2) chunk activations, half of 1F1B.
constexpr block v_half(devices p) {
  tick const d = p.value, wait = d % 2 == 0 ? 3 : 0;
  return v_block(p, pass_kind::backward_input,
                 [=](tick i) {
                   return v_starts{2 * i, 3 * d - 2 - i, 3 * d - 1 + wait + 2 * i, 6 * d - 2 + wait - i};
                 })
         | weights_in_first_gaps();
}

// V-ZB: four ticks and two; no bubble with equal pass times, 2p chunk activations on every device.
constexpr block v_zb(devices p) {
  tick const d = p.value;
  return v_block(p, pass_kind::backward_input,
                 [=](tick i) {
                   return v_starts{4 * i, 6 * d - 5 - 2 * i, 6 * d - 4 + 4 * i, 12 * d - 9 - 2 * i};
                 })
         | weights_in_first_gaps();
}

// 1F1B-V: fused backwards of two ticks fill the interval whole, so that both backward legs together wait
// three ticks at every third hop: 2 floor((2p+3)/3) chunk activations, two thirds of 1F1B. The paper
// gives the memory and no offsets; these are those of the authors' implementation.
constexpr block one_f_one_b_v(devices p) {
  tick const d = p.value, turn = 2 * d + (d % 3 == 0 ? 3 : 0), phase = (4 - d % 3) % 3;
  auto const backward = [=](tick hop) { return turn + 2 * hop + 3 * ((phase + hop) / 3); };
  return v_block(p, pass_kind::backward, [=](tick i) {
    return v_starts{i, 2 * d - 1 - i, backward(i), backward(2 * d - 1 - i)};
  });
}

}  // namespace ashlar::catalog
