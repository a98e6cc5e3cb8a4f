// Hill climbing over delay blocks and the options with which their plans are justified.
#pragma once

#include <ashlar/core/function_ref.hpp>
#include <ashlar/optimize/delay_block.hpp>
#include <ashlar/optimize/justification.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// A point of the search space: blocks of micro-batches that take turns, and how their orders are
// justified.
struct candidate {
  std::vector<delay_block> tracks;
  justification_options how;
  objective_value reached = {};
};

// The objective value of the schedule that a candidate gives. With `prunes`, a candidate whose first
// dispatch is more than 1/64 above the best so far is not justified, because hardly any of these becomes
// better.
class full_evaluation {
 public:
  explicit full_evaluation(justifier& search, bool prunes = false) : search_(&search), prunes_(prunes) {}
  objective_value operator()(candidate const& k);

 private:
  justifier* search_;
  bool prunes_;
};

// The start of a hill climb: hops of a half, a sixth and none of the work, as V-ZB, V-Half and V-Min
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
