// Iterated local search (Lourenco, Martin and Stuetzle, 2003) on the starts of passes, with
// justification as the local search.
#pragma once

#include <ashlar/optimize/justification.hpp>

#include <vector>

namespace ashlar {

namespace local_search_detail {

// Moves the target starts of a few passes, of a stage's passes of one kind (of every first, second,
// third or fourth micro-batch), of a micro-batch, of all in a short time, or of all of a kind from a
// micro-batch on; in long schedules it may repeat the order of a few micro-batches instead.
void perturb(justifier& search, list_scheduler::solution const& t, tick work,
             std::vector<tick>& targets);

}  // namespace local_search_detail

// Perturbs, justifies, accepts if not worse, until the budget ends; returns the last accepted solution.
// `rate` gives the objective value of a solution; without a solution to begin with nothing is done.
// Orders are dropped if the first dispatch puts them more than `farthest` above the last accepted value
// of search.judge().
list_scheduler::solution iterated_local_search(
    justifier& search, function_ref<objective_value(list_scheduler::solution const&)> rate,
    tick farthest = max_tick / 2);

// Rates by the objective of the search. For a long schedule, few others can be tried. Half of them are
// dropped for being a 64th worse when first dispatched, because hardly any of these becomes better.
void iterated_local_search(justifier& search);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/optimize/iterated_local_search.ipp>
#endif
