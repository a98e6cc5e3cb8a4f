// Why a timeline takes more or less time than another one of the same passes: which passes and which
// waits make the difference.
#pragma once

#include <ashlar/core/pass.hpp>
#include <ashlar/core/ticks.hpp>

#include <vector>

namespace ashlar {

// A pass on a device, in a measured timeline and in the one that was planned.
struct paired_pass {
  pass what;
  int device = 0;
  tick start = 0, end = 0;
  tick planned_start = 0, planned_end = 0;

  friend constexpr bool operator==(paired_pass const&, paired_pass const&) = default;
};

// A pass by which a measured timeline differs from the plan.
struct path_difference {
  pass what;
  int device = 0;
  tick longer = 0;  // that it took
  tick later = 0;   // that it began after its cause

  tick sum() const { return longer + later; }

  friend constexpr bool operator==(path_difference const&, path_difference const&) = default;
};

// The passes on the measured timeline's longest path, the first one first: from the one that ends last,
// each time to the last to end of its inputs and the pass before it on its device. Their differences in
// length and begin add up to the difference between the ends of the last of them, measured and planned,
// both timelines from 0 on. Stages are a chain; passes are given in any order, each once; where they run
// before their inputs, the path goes back no further than there are passes. O(n log n). Throws
// violation: rule::every_pass_is_known for an unknown stage or micro-batch and for work,
// rule::ticks_fit, rule::parameter_is_at_most for more than most_passes.
std::vector<path_difference> path_of_difference(std::vector<paired_pass> const& passes, int stage_count,
                                                int micro_batch_count);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/study/timeline_difference.ipp>
#endif
