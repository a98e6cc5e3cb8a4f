// Serving: prompts are prefilled, then tokens are decoded one after the other, in a ring from the last
// stage back to the first. This is an ordinary schedule, so it is lowered, proved, simulated and run
// like all others.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/model/stage_graph.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// What one device takes for a micro-batch of each phase.
struct phase_times {
  tick prefill = 1;
  tick decode = 1;

  friend constexpr bool operator==(phase_times const&, phase_times const&) = default;
};

// A batch in `prefills` micro-batches while prompts are read, and in `groups` while tokens are decoded.
// The prefill gives the first token, each of `tokens` rounds one more.
struct two_phase {
  int prefills = 1;
  int groups = 1;
  int tokens = 1;

  // Prefills and groups cover the same samples: they come in units of so many of each.
  constexpr int units() const { return greatest_common_divisor(prefills, groups); }
  constexpr int prefills_of_unit() const { return prefills / units(); }
  constexpr int groups_of_unit() const { return groups / units(); }

  // Stages of a unit on so many devices: a chain for each prefill, and one for each token of a group.
  constexpr int stage_count(int p) const { return p * (prefills_of_unit() + tokens * groups_of_unit()); }
  constexpr int prefill_stage(int p, int prefill, int device) const { return prefill * p + device; }
  constexpr int decode_stage(int p, int token, int group, int device) const {
    return (prefills_of_unit() + token * groups_of_unit() + group) * p + device;
  }
  constexpr bool is_prefill(int p, int stage) const { return stage < prefills_of_unit() * p; }
  // Whether two of a unit have samples in common.
  constexpr bool share_samples(int prefill, int group) const {
    int const k = prefills_of_unit(), c = groups_of_unit();
    return prefill * c < (group + 1) * k && group * k < (prefill + 1) * c;
  }

  friend constexpr bool operator==(two_phase const&, two_phase const&) = default;
};

// Who hands what to whom in a unit: a group's first token needs all prefills that it has samples in
// common with, each further one the token before it from the last device.
constexpr stage_graph two_phase_graph(two_phase const& shape, int p) {
  std::vector<stage_edge> edges;
  int const last = p - 1;
  for (int i = 0; i < shape.prefills_of_unit(); ++i) {
    for (int d = 0; d < last; ++d)
      edges.push_back({shape.prefill_stage(p, i, d), shape.prefill_stage(p, i, d + 1)});
    for (int g = 0; g < shape.groups_of_unit() && shape.tokens > 0; ++g)
      if (shape.share_samples(i, g))
        edges.push_back({shape.prefill_stage(p, i, last), shape.decode_stage(p, 0, g, 0)});
  }
  for (int t = 0; t < shape.tokens; ++t)
    for (int g = 0; g < shape.groups_of_unit(); ++g) {
      for (int d = 0; d < last; ++d)
        edges.push_back({shape.decode_stage(p, t, g, d), shape.decode_stage(p, t, g, d + 1)});
      if (t + 1 < shape.tokens)
        edges.push_back({shape.decode_stage(p, t, g, last), shape.decode_stage(p, t + 1, g, 0)});
    }
  return stage_graph(stages{shape.stage_count(p)}, edges);
}

// Each device first does all prefills, then round after round a token of each group; everything as early
// as that allows, so that decoding begins on one device while others still prefill. A unit is a
// micro-batch, and what a device does for a prefill or for a token of a group a stage of its own.
//
// Keys and values stay on their device and are no values of the program, as weights are none: a token
// comes round to a device only after the one before it.
//
// The times are of a device's stage, by device; `transfer` is the time of a message. Linear in passes.
// (Zhao et al., LLM-PQ, 2024, section 4, whose formula for this is `two_phase_formula`.) Throws
// violation: rule::counts_are_positive, rule::durations_are_positive.
constexpr schedule two_phase_schedule(two_phase const& shape, std::vector<phase_times> const& by_device,
                                      tick transfer = 0) {
  for (int count : {shape.prefills, shape.groups, static_cast<int>(by_device.size())})
    if (count < 1) refuse({.broken = rule::counts_are_positive, .number = count});
  if (shape.tokens < 0) refuse({.broken = rule::counts_are_positive, .number = shape.tokens});
  for (phase_times const& each : by_device)
    for (tick time : {each.prefill, each.decode})
      if (time < 1) refuse({.broken = rule::durations_are_positive, .number = time});
  int const p = static_cast<int>(by_device.size());
  std::vector<stage_cost> each;
  for (int s = 0; s < shape.stage_count(p); ++s) {
    phase_times const& times = nth(by_device, s % p);
    each.push_back({.forward = shape.is_prefill(p, s) ? times.prefill : times.decode});
  }
  std::vector<std::vector<timed_pass>> order(by_device.size());
  auto const add = [&](int device, int stage, int unit) {
    nth(order, device).push_back({{pass_kind::forward, stage, unit}, 0});
  };
  for (int d = 0; d < p; ++d) {
    for (int u = 0; u < shape.units(); ++u)
      for (int i = 0; i < shape.prefills_of_unit(); ++i) add(d, shape.prefill_stage(p, i, d), u);
    for (int t = 0; t < shape.tokens; ++t)
      for (int u = 0; u < shape.units(); ++u)
        for (int g = 0; g < shape.groups_of_unit(); ++g) add(d, shape.decode_stage(p, t, g, d), u);
  }
  return squeeze(schedule{
      .graph = two_phase_graph(shape, p),
      .where = make_placement(devices{p}, stages{shape.stage_count(p)}, [p](int s) { return s % p; }),
      .route = std::vector<int>(static_cast<std::size_t>(shape.units()), 0),
      .cost = costs(each, transfer),
      .order = std::move(order),
      .mode = execution_mode::inference});
}

// The times that LLM-PQ (equation 1) predicts: the sum over devices, and the slowest device once more
// for each further micro-batch of the prefill, and each further group in each round but the first. A
// slow device is busy for all groups in every round, so that for many tokens this is too low by about
// one group's share: what a schedule takes is the makespan of `two_phase_schedule`.
struct two_phase_estimate {
  tick prefill = 0;
  tick decode = 0;

  friend constexpr bool operator==(two_phase_estimate const&, two_phase_estimate const&) = default;
};

constexpr two_phase_estimate two_phase_formula(two_phase const& shape,
                                               std::vector<phase_times> const& by_device) {
  two_phase_estimate sum;
  phase_times slowest{0, 0};
  for (phase_times const& each : by_device) {
    sum.prefill += each.prefill;
    sum.decode += each.decode;
    slowest = {max_of(slowest.prefill, each.prefill), max_of(slowest.decode, each.decode)};
  }
  sum.prefill += (shape.prefills - 1) * slowest.prefill;
  sum.decode += (shape.groups - 1) * tick{shape.tokens} * slowest.decode;
  return sum;
}

}  // namespace ashlar
