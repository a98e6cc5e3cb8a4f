// Costs of passes and transfers from a framework's profiler.
#pragma once

#include <ashlar/run/measured_costs.hpp>
#include <ashlar/run/profiled_rank.hpp>

#include <string>
#include <vector>

namespace ashlar {

struct profiled_costs {
  measured_costs measured = {};              // a transfer is a link's latency: its length is unknown
  std::vector<double> clocks_ahead_ns = {};  // by rank of the pipeline, relative to the first
  std::vector<std::string> warnings = {};    // guesses and possible errors, in sentences
};

// Returns the costs of a pipeline from all or some of its ranks, in any order and with copies of
// data-parallel ranks. Stages are a chain.
// * A pass takes its rank's time without the wait for its input: leave_out_waits().
// * A stage that no rank shows takes the mean of the others.
// * Fused backwards of a stage that has no others are split in half; on the first stage, which has no
//   input to give a gradient to, the weight pass takes all. The sum is the time of the fused backward.
// * A transfer takes the time from the end of its sending pass to the start of the pass that waited for
//   it, by the clocks of clocks_of().
// Requires a pass. O(n log n), plus clocks_of().
profiled_costs costs_of(std::vector<profiled_rank> ranks);

// The step of median length among whole_steps(), by one clock: times begin with the step's first pass,
// and `rank` counts from 0. Empty without whole steps, and if passes name others, or times that cannot
// be counted.
std::vector<profiled_rank> typical_step(std::vector<profiled_rank> ranks);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/run/profiled_costs.ipp>
#endif
