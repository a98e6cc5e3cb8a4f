// Memory over time: the chunk activations that each device holds.
#pragma once

#include <ashlar/core/ticks.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <vector>

namespace ashlar {

// The number held from `time` on, until the next step.
struct held_step {
  tick time = 0;
  int held = 0;  // chunk activations
};

// By device, one step for each time at which the number changes: up at the start of a forward, down at
// the end of the last pass that reads an activation. The highest step is peak_activations(s). A schedule
// without backward passes keeps nothing beyond the end of a forward. O(n log n) in the passes.
std::vector<std::vector<held_step>> held_activations(schedule const& s);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/activations.ipp>
#endif
