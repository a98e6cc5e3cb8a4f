// schedules -> schedule: the best that a search finds for the same passes under a memory limit.
#pragma once

#include <ashlar/optimize/hill_climb.hpp>
#include <ashlar/optimize/justification.hpp>

#include <vector>

namespace ashlar {

// Whether no device ever holds more than it may. O(passes). Throws violation: check_form(s),
// rule::tables_agree unless there is one budget for all devices or one each, those of
// check(memory_model).
bool is_within(schedule const& s, memory_limit const& limit);

// Whether delay blocks can make plans for a schedule: a chain of stages with one route, in training.
bool has_delay_blocks(schedule const& s);

// Spends the first half of the search's budget: on `seeds`, schedules of the same passes, and on delay
// blocks where has_delay_blocks(), whose climb at full size may be pruned. The rest is for
// iterated_local_search() or iterated_tabu_search(). Returns the best candidates on the way, best first.
std::vector<candidate> improve_orders(justifier& search, std::vector<schedule> const& seeds,
                                      memory_limit const& limit, search_budget budget,
                                      bool prunes = false);

// Whether a search can handle `s`. It does not see overlapped pairs, work, recomputes (whose memory it
// would count too early), stages that move, and inference, which has nothing to reorder.
bool can_be_improved(schedule const& s);

// The best schedule found within `limit`, one or none; no worse than those of `seeds` squeezed that are
// within it. Just the first of them squeezed, if it is within the limit, without a budget, or where it
// has no idle time, reaches the goal or is as good as what is found. None if nothing was found within
// the limit. Throws as squeeze(), is_within() and the list scheduler do, and
// violation{rule::counts_are_positive} without seeds.
std::vector<schedule> improved_within(std::vector<schedule> const& seeds, memory_limit const& limit,
                                      search_budget budget);

// Returns that schedule. If nothing was found, throws violation{rule::memory_is_within_budget}, too,
// with the device of the first seed that holds more than it may.
schedule improve(std::vector<schedule> const& seeds, memory_limit const& limit, search_budget budget);

// Reorders the passes if a search finds makespan + 3 span to be less, within the memory of the device
// that holds most. Only where can_be_improved().
schedule improve(schedule const& s, search_budget budget);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/optimize/improve.ipp>
#endif
