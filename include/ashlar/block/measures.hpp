// How long a block's activations live, and how many a device holds once it is repeated.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/block/form.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/dependencies.hpp>

#include <cstdint>

namespace ashlar {

namespace block_detail {

// When an activation is there, in ticks from the beginning of its block.
struct life {
  tick begin = 0, end = 0;
};

// That of a stage, for a block that has its form.
constexpr life life_of(block const& b, int stage, int micro_batch) {
  life found;
  bool begins = false, ends = false;
  for (cell const& c : b.cells) {
    if (c.what.stage != stage || c.what.micro_batch != micro_batch) continue;
    if (c.what.kind == pass_kind::forward) {
      found.begin = c.offset;
      begins = true;
      if (b.mode == execution_mode::training) continue;
      found.end = c.offset + b.length_of(c.what);  // nothing is kept
      ends = true;
    } else if (gives_weight_gradient(c.what.kind)) {
      found.end = c.offset + b.length_of(c.what);
      ends = true;
    }
  }
  if (!begins || !ends)
    refuse({.broken = rule::every_pass_is_present,
            .first = {.what = {pass_kind::forward, stage, micro_batch}}});
  return found;
}

// Those of all activations of a device.
constexpr dynamic_array<life> lives_on(block const& b, device_id device) {
  must_have_form(b);
  dynamic_array<life> lives;
  for (cell const& c : b.cells)
    if (c.what.kind == pass_kind::forward && b.device_of(c.what) == device.value)
      lives.push_back(life_of(b, c.what.stage, c.what.micro_batch));
  return lives;
}

// A number of activations. Throws violation{rule::ticks_fit} for more than an int counts.
constexpr int counted(tick number) {
  if (number > INT32_MAX) refuse({.broken = rule::ticks_fit, .number = number});
  return static_cast<int>(number);
}

}  // namespace block_detail

// Ticks from the start of a stage's forward to the end of the pass that frees its activations. Throws
// violation: check_form(b), rule::every_pass_is_present when the block lacks one of the two. Linear in
// the cells.
constexpr tick lifespan(block const& b, stage_id stage, micro_batch_id micro_batch = micro_batch_id{0}) {
  must_have_form(b);
  block_detail::life const own = block_detail::life_of(b, stage.value, micro_batch.value);
  return own.end - own.begin;
}

// How many repetitions hold an activation with this lifespan at most. One that is freed at the moment at
// which it is made counts as well. The interval is at least 1: violation{rule::counts_are_positive}.
constexpr tick most_held(tick lifespan, tick interval) {
  if (interval < 1) refuse({.broken = rule::counts_are_positive, .number = interval});
  return lifespan == 0 ? 1 : lifespan / interval + (lifespan % interval > 0 ? 1 : 0);
}

// The most chunk activations that a device can hold once the block is repeated: the sum over its stages
// of lifespan / interval, rounded up (Controllable Memory, section 2.2). Throws as lifespan() does, and
// violation{rule::ticks_fit} for more than an int counts. O(cells), for each stage of the device.
constexpr int activation_bound(block const& b, device_id device) {
  tick bound = 0;
  for (block_detail::life const& l : block_detail::lives_on(b, device))
    bound = saturating_sum(bound, max_of<tick>(0, most_held(l.end - l.begin, b.interval)));
  return block_detail::counted(bound);
}

// The most chunk activations that a device holds at once when the block is repeated for ever: the
// largest number of live intervals over the phases of its forwards, because only a forward adds one.
// Activations that live for a moment alone all count at that moment. Never above activation_bound(), and
// below it if the stages do not all reach their most in the same phase. Quadratic in the device's
// stages. Throws as activation_bound() does.
constexpr int repeated_peak(block const& b, device_id device) {
  dynamic_array<block_detail::life> const lives = block_detail::lives_on(b, device);
  tick most = 0;
  for (block_detail::life const& phase : lives) {
    tick held = 0;
    for (block_detail::life const& l : lives)
      held = saturating_sum(
          held, l.begin == l.end
                    ? (floor_remainder(phase.begin - l.begin, b.interval) == 0 ? 1 : 0)
                    : max_of<tick>(0, floor_quotient(phase.begin - l.begin, b.interval)
                                          - floor_quotient(phase.begin - l.end, b.interval)));
    most = held > most ? held : most;
  }
  return block_detail::counted(most);
}

}  // namespace ashlar
