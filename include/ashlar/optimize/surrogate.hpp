// Estimates a candidate's objective value at large m from three rounds.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/optimize/hill_climb.hpp>
#include <ashlar/optimize/justification.hpp>
#include <ashlar/optimize/periodic_extension.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Extends a candidate's schedule of 3p micro-batches (three rounds) periodically: all further ones can
// follow each other as fast as the second p, or a half of these. The mean of the fastest and the slowest
// counts, because a pace in only one place may not last. For long schedules; O(p^2) for each candidate
// instead of O(m p).
class surrogate {
 public:
  surrogate(justifier& search, memory_limit const& limit, search_budget budget);

  objective_value operator()(candidate const& k);

  // Justifies the two best extensions of a candidate's schedule at full size, for search.best().
  void extend(candidate const& k);

 private:
  // The time that micro-batches beyond 3p add; not less than their work.
  tick growth(result_table<tick> const& start, std::size_t i) const;

  justifier* search_;
  justifier small_;
  tick least_work_;  // of one sequence
  tick weight_;
  std::vector<pass> references_;  // one micro-batch
  dynamic_array<extension_window> windows_;
  dynamic_array<keyed_index> by_growth_;  // of the last candidate: windows, best first
};

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/optimize/surrogate.ipp>
#endif
