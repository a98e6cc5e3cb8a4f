// The best schedule under a limit on memory, where values may leave for the hosts of their devices.
#pragma once

#include <ashlar/core/literal_optional.hpp>
#include <ashlar/search/offload.hpp>
#include <ashlar/search/search.hpp>

namespace ashlar {

// A schedule, and the values that leave so that devices stay within the limit.
struct offloaded_schedule {
  schedule best = {};
  tick reached = 0;  // the value of the objective
  bound least = {};  // no schedule is shorter, however much memory there is
  offload_choice choice = {};
};

// Searches under limits from the given one up to one that holds everything, and under limits that count
// little of values that could have left; takes the shortest schedule that steady_offload() brings within
// the given limit; and moves passes about where these may wait for copies (paged_order.hpp). No worse
// than `plain`, the result of a search without copies, if there is one, and no worse than over a slower
// link of the same latency: both are so by construction, because copies are planned over links of fixed
// speeds (host_ladder.hpp). Nothing, if none fits: another order might. Half of the budget is divided
// among at most 21 searches, each with `watch`; the other half is the measure of the last part, in which
// `watch` is asked for each link. The result depends on the budget alone. Throws violation: check() of
// the problem with all memory.
literal_optional<offloaded_schedule> search_offloaded(search_problem const& problem,
                                                      host_link const& host, search_budget budget,
                                                      search_result const* plain = nullptr,
                                                      search_watch watch = unwatched,
                                                      task_runner for_each_task = one_after_the_other);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/search/offload_search.ipp>
#endif
