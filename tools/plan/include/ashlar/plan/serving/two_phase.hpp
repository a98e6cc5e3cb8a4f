// Serving: prompts are prefilled, then tokens are decoded one after the other, in a ring from the last
// stage back to the first. This is an ordinary schedule, so it is lowered, proved, simulated and run
// like all others.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/model/stage_graph.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <vector>

namespace ashlar {

// The time of one device for a micro-batch of each phase.
struct phase_times {
  tick prefill = 1;
  tick decode = 1;

  friend constexpr bool operator==(phase_times const&, phase_times const&) = default;
};

// A batch is `prefills` micro-batches while prompts are read, and `groups` while tokens are decoded. The
// prefill gives the first token, each of `tokens` rounds one more.
struct two_phase {
  int prefills = 1;
  int groups = 1;
  int tokens = 1;

  // Prefills and groups cover the same samples, so a batch has this many units of some of each.
  int units() const { return greatest_common_divisor(prefills, groups); }
  int prefills_of_unit() const { return prefills / units(); }
  int groups_of_unit() const { return groups / units(); }

  // Stages of a unit on this many devices: a chain for each prefill, and one for each token of a group.
  int stage_count(int p) const { return p * (prefills_of_unit() + tokens * groups_of_unit()); }
  int prefill_stage(int p, int prefill, int device) const { return prefill * p + device; }
  int decode_stage(int p, int token, int group, int device) const {
    return (prefills_of_unit() + token * groups_of_unit() + group) * p + device;
  }
  bool is_prefill(int p, int stage) const { return stage < prefills_of_unit() * p; }
  // Whether two of a unit share samples.
  bool share_samples(int prefill, int group) const {
    int const k = prefills_of_unit(), c = groups_of_unit();
    return prefill * c < (group + 1) * k && group * k < (prefill + 1) * c;
  }

  friend constexpr bool operator==(two_phase const&, two_phase const&) = default;
};

// Requires positive prefills and groups; tokens may be 0.
diagnosis check(two_phase const& shape);

// The edges of a unit: a group's first token needs all prefills that share samples with it, each further
// one needs the token before it from the last device. Throws violation: check(shape),
// rule::counts_are_positive without devices, rule::parameter_is_at_most for more than most_passes.
stage_graph two_phase_graph(two_phase const& shape, int p);

// Each device first does all prefills, then round after round a token of each group; everything as early
// as that allows, so decoding begins on one device while others still prefill. A unit is a micro-batch,
// and a device's work on a prefill or on a token of a group is a stage of its own.
//
// Keys and values stay on their device and, like weights, are not values of the program: a token returns
// to a device only after the one before it.
//
// `by_device` has the times of each device's stage; `transfer` is the time of a message. Linear in
// passes. (Zhao et al., LLM-PQ, 2024, section 4, whose formula for this is `two_phase_formula`.) Throws
// violation: check(shape), rule::counts_are_positive without devices, rule::no_duration_is_negative,
// rule::parameter_is_at_most for more than most_passes.
schedule two_phase_schedule(two_phase const& shape, std::vector<phase_times> const& by_device,
                            tick transfer = 0);

// The times that LLM-PQ (equation 1) predicts: the sum over devices, plus the slowest device once for
// each further micro-batch of the prefill, and for each further group in each round but the first. A
// slow device is busy for all groups in every round, so for many tokens this is too low by about one
// group's share; the schedule's true time is the makespan of `two_phase_schedule`. Sums that overflow
// are max_tick. Throws violation: check(shape), rule::no_duration_is_negative.
struct two_phase_estimate {
  tick prefill = 0;
  tick decode = 0;

  friend constexpr bool operator==(two_phase_estimate const&, two_phase_estimate const&) = default;
};

// The time of both phases by a closed form, in ticks. `by_device` follows the order of the ring.
two_phase_estimate two_phase_formula(two_phase const& shape, std::vector<phase_times> const& by_device);

}  // namespace ashlar
