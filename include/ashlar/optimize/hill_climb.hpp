// Hill climbing over delay blocks and the options with which their plans are justified.
#pragma once

#include <ashlar/core/function_ref.hpp>
#include <ashlar/optimize/delay_block.hpp>
#include <ashlar/optimize/justification.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// A point of the search space: blocks of micro-batches that take turns, and how their plan is justified.
struct candidate {
  std::vector<delay_block> tracks;
  justification_options how;
  objective_value reached = {};
};

// The objective value of the schedule that a candidate gives. Choosy: a candidate that the first
// dispatch puts a 64th above the best so far is not justified, because hardly any of these becomes
// better.
class at_full_size {
 public:
  explicit at_full_size(justifier& search, bool is_choosy = false)
      : search_(&search), is_choosy_(is_choosy) {}
  objective_value operator()(candidate const& k);

 private:
  justifier* search_;
  bool is_choosy_;
};

// Where a hill climb starts: hops of a half, a sixth and none of the work, as V-ZB, V-Half and V-Min
// have them, at a period that leaves the activations room (Little's law).
delay_block start_of_hill_climb(justifier& search, memory_limit const& limit, std::size_t round);

// Changes one or two numbers of a block by up to 15 % of the work, or one of the options.
candidate neighbour(justifier& search, candidate k, tick work);

// Hill climbing with restarts: accepts a neighbour that is no worse, and starts anew after too many in
// a row without a gain, until `share` percent of the budget are spent. `tops`: the best candidates on
// the way, best first; every other start is from one of them.
void hill_climb(justifier& search, memory_limit const& limit,
                function_ref<objective_value(candidate const&)> evaluate, std::int64_t share,
                std::vector<candidate>& tops);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/optimize/hill_climb.ipp>
#endif
