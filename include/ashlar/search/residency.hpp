// When to gather weights and which to keep, where data-parallel ranks keep them in shards: the plan of
// residency with the shortest simulated step.
#pragma once

#include <ashlar/lower/options.hpp>
#include <ashlar/schedule/residency_rules.hpp>
#include <ashlar/simulate/options.hpp>

#include <vector>

namespace ashlar {

// How much of the weights a device may have at once.
struct residency_limit {
  int stages = 3;  // the most that are whole; at least 1, and 2 where passes overlap
  std::vector<byte_count> budgets = {};  // the peak of memory, for all devices or each; none: any
};

// A plan, and the simulation of its program.
struct residency_choice {
  residency weights = {};
  tick makespan = 0;
  std::vector<byte_count> peak = {};  // of memory, by device
  byte_count excess = 0;              // by which devices exceed their budgets, all together

  constexpr bool fits() const { return excess == 0; }
};

// Simulates the program that a plan gives, with memory. Throws as lower() and simulate() do.
residency_choice simulated_residency(schedule const& s, lower_options const& how,
                                     simulation_options const& o, residency weights,
                                     std::vector<byte_count> const& budgets = {});

// Chooses a rule of residency for each device: first one for all, then device by device while the step
// gets shorter. Of plans with equal steps it takes one with fewer gathers. Among the rules are
// PyTorch's with up to the limit's stages, so the step is never longer than by one that fits. If
// no plan fits, it takes the one with the least excess. `how` is sharded. Throws as
// lower() and simulate() do, and violation{rule::parameter_is_at_least} for less than one stage,
// rule::tables_agree for budgets. Simulates some 100 programs for each device with two chunks or more.
residency_choice choose_residency(schedule const& s, lower_options const& how,
                                  simulation_options const& o, residency_limit const& limit = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/search/residency.ipp>
#endif
