// The order in which micro-batches of different lengths enter a schedule, and the route of each.
#pragma once

#include <ashlar/schedule/schedule.hpp>
#include <ashlar/search/in_order.hpp>
#include <ashlar/search/ordered_micro_batches.hpp>
#include <ashlar/search/problem.hpp>

#include <vector>

namespace ashlar {

// The best order found, no worse than that given. A schedule has a place for each micro-batch: when its
// passes run, and on which route. These stay as they are; the search assigns micro-batches to places, so
// one search answers for orders, for routes, and for neighbours. With so few micro-batches that the
// budget has room for all orders that differ, all are tried. Otherwise it begins with orders that are
// often good (longest first or last, short ones at both ends, each route with its share) and exchanges
// and moves single micro-batches, at random, as long as that makes nothing worse.
//
// Devices have room for `limit`, if not null; it counts where the memory of micro-batches differs. Where
// the order given is not within it, only orders within it count as found, if there are any.
//
// The bound counts differing times as the shortest, and the rest as work; so it is one for all orders.
// O(evaluations * passes). Throws violation as squeeze() does, and check() of the result;
// rule::tables_agree for a schedule whose sequences are in chunks, or whose stages take micro-batches of
// several sizes; rule::overlapped_passes_are_a_pair for one with pairs, for which no time by micro-batch
// is known.
ordered_micro_batches order_micro_batches(schedule const& s, order_budget const& budget = {},
                                          memory_limit const* limit = nullptr);

// An order for a search to begin with: the best of those found for the three shortest schedules that it
// would begin with anyway, each with a share of the evaluations. Empty if none is shorter than with the
// order given, or micro-batches are alike. in_order(problem, order) is the problem to search then: its
// micro-batches are those of the places. Throws violation as the above.
std::vector<int> order_for(search_problem const& problem, order_budget const& budget = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/search/micro_batch_order.ipp>
#endif
