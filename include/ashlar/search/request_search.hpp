// Schedules of requests: passes that are forwards alone, in any order of requests.
//
// Giffler and Thompson, Algorithms for Solving Production-Scheduling Problems (1960), make an active
// schedule of any priorities of passes, and each best schedule is one. Threshold accepting (Dueck and
// Scheuer, 1990) changes the priorities, which are the starts in the last schedule.
#pragma once

#include <ashlar/bounds/request_bound.hpp>
#include <ashlar/model/requests.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstdint>
#include <vector>

namespace ashlar {

// Requests on a chain of stages, on the first route of a placement. Costs are by stage and micro-batch.
struct request_problem {
  placement where;
  request_list asked;
  costs cost;
};

// How long a search is, what it seeks, and the seed of its random numbers.
struct request_budget {
  std::int64_t evaluations = 10'000;  // of a whole schedule
  request_objective aim = request_objective::mean;
  std::uint64_t seed = 1;
};

// The result of search_requests(). Its starts wait for arrivals: a squeeze would not.
struct request_schedule {
  schedule best;
  tick reached = 0;  // the value of the objective
  request_bounds least;
  std::int64_t evaluations = 0;

  // Whether no schedule of the requests has a smaller value.
  bool is_optimal(request_objective aim) const { return reached == least.of(aim); }
};

// When the last chunk of each request leaves the last stage. Throws violation: check_form(s),
// rule::tables_agree for other micro-batches than those of the requests. O(passes).
std::vector<tick> request_ends(schedule const& s, request_list const& asked);

// The best schedule found. Ends at the bound. Same budget and seed, same result. Throws violation:
// check(asked, where), check(costs). O(passes (devices + requests)) for each evaluation.
request_schedule search_requests(request_problem const& problem, request_budget budget);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/search/request_search.ipp>
#endif
