// How much of a step's batch is known when a backward starts.
#pragma once

#include <ashlar/core/ids.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/tables.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// For each micro-batch the share of all micro-batches whose forward on the stage, on any device, has
// ended `delay` ticks before the stage's backward (fused or of the input) of this one starts. Counts
// made by forwards and summed by an all-reduce of that duration have this coverage: 1 where all forwards
// come first. 0 where there is no backward. Qiu et al., arXiv 2501.11873, call these micro-batches the
// buffer. O(m^2) for m micro-batches, after the passes of all devices. Throws violation: check_form(s),
// rule::every_pass_is_known for an unknown stage, rule::ticks_fit for a delay that is out of range.
constexpr std::vector<double> coverage(schedule const& s, stage_id stage, tick delay = 0) {
  must_have_form(s);
  if (s.route.empty()) return {};
  if (stage.value < 0 || stage.value >= s.stage_count())
    refuse({.broken = rule::every_pass_is_known, .first = {.what = {.stage = stage.value}}});
  if (delay <= -max_tick || delay >= max_tick) refuse({.broken = rule::ticks_fit, .number = delay});
  struct times {
    tick known = max_tick;  // by when its forward is
    tick used = 0;
    bool goes_back = false;
  };
  std::vector<times> of(s.route.size());
  for (int d = 0; d < s.device_count(); ++d)
    for (timed_pass const t : each_pass(nth(s.order, d))) {
      if (is_part(t.what) || t.what.stage != stage.value) continue;
      times& own = nth(of, t.what.micro_batch);
      if (t.what.kind == pass_kind::forward) own.known = s.end_of(t, d) + delay;
      if (!gives_input_gradient(t.what.kind)) continue;
      own.used = t.start;
      own.goes_back = true;
    }
  int const size = s.graph.size_of(stage.value);  // of the stage's micro-batches, in the schedule's
  for (std::size_t k = 0; k < of.size(); ++k) of[k] = of[k - k % static_cast<std::size_t>(size)];
  std::vector<double> shares;
  for (times const& back : of) {
    int known = 0;
    for (times const& other : of) known += back.goes_back && other.known <= back.used ? 1 : 0;
    shares.push_back(static_cast<double>(known) / static_cast<double>(of.size()));
  }
  return shares;
}

// The share of one micro-batch. Throws also rule::every_pass_is_known for an unknown one.
constexpr double coverage(schedule const& s, stage_id stage, micro_batch_id micro_batch,
                          tick delay = 0) {
  std::vector<double> const shares = coverage(s, stage, delay);
  if (micro_batch.value < 0 || micro_batch.value >= s.micro_batch_count())
    refuse({.broken = rule::every_pass_is_known,
            .first = {.what = {.stage = stage.value, .micro_batch = micro_batch.value}}});
  return nth(shares, micro_batch.value);
}

// The mean over the micro-batches of a stage; 0 for a schedule without any.
constexpr double mean_coverage(schedule const& s, stage_id stage, tick delay = 0) {
  std::vector<double> const shares = coverage(s, stage, delay);
  double sum = 0;
  for (double share : shares) sum += share;
  return shares.empty() ? 0.0 : sum / static_cast<double>(shares.size());
}

}  // namespace ashlar
