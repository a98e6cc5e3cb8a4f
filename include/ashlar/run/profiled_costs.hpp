// What passes and transfers took, by a framework's profiler.
#pragma once

#include <ashlar/run/measured_costs.hpp>
#include <ashlar/run/profiled_rank.hpp>

#include <string>
#include <vector>

namespace ashlar {

struct profiled_costs {
  measured_costs measured = {};  // a transfer is a link's latency: how long its message is, is not known
  std::vector<double> clocks_ahead_ns = {};  // by rank of the pipeline, relative to the first
  std::vector<std::string> warnings = {};    // what was guessed, and what may be wrong, in sentences
};

// Of the ranks of a pipeline, or some of them, in any order and with copies of data-parallel ranks;
// stages are a chain.
// * A pass takes what its rank took for it but for the wait for its input: leave_out_waits().
// * A stage of which no rank was seen takes the mean of those that were seen.
// * Of a stage that has fused backwards alone, each half takes one half; on the first stage, which has
// no
//   input to give a gradient to, the weight pass takes all. That sum is what the fused backward took.
// * A transfer took the time from the end of the pass that it came from to the start of the one that had
//   waited for it, by the clocks of clocks_of().
// There must be a pass. O(n log n) and that of clocks_of().
profiled_costs costs_of(std::vector<profiled_rank> ranks);

// The step of median length of whole_steps(), by one clock: times begin with the step's first pass, and
// `rank` counts from 0. Without whole steps, empty.
std::vector<profiled_rank> typical_step(std::vector<profiled_rank> ranks);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/run/profiled_costs.ipp>
#endif
