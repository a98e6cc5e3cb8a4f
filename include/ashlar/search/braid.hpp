// Pairs in a schedule, where they make it shorter.
#pragma once

#include <ashlar/optimize/budget.hpp>
#include <ashlar/search/problem.hpp>

#include <cstdint>

namespace ashlar {

// The result of braid(): the schedule, its objective value, and the passes that it dispatched.
struct braided_schedule {
  schedule best = {};
  tick reached = 0;
  std::int64_t passes = 0;
};

// A lower bound for all schedules of the problem in which forwards may run with backwards, input or
// weight passes. The problem has a chain of stages and a solution.
bound braided_bound(search_problem const& problem);

// Makes neighbours pairs: a forward and a backward, an input or a weight pass, or both halves of a
// backward as one, as long as the objective (span or makespan; others count as makespan) does not grow
// and the limit is kept. Begins with `s`, a valid schedule of the problem without pairs, and with the
// published schedules with pairs on the problem's placement; so the result is no longer than any of them
// that fits, and no longer with more to spend. Without costs of pairs the result is `s`. Ends when
// nothing gets shorter or `passes` have been dispatched; each attempt dispatches all passes once. Throws
// violation with check(problem), check(s) and check_start(problem, s).
braided_schedule braid(search_problem const& problem, schedule const& s, objective aim,
                       std::int64_t passes);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/search/braid.ipp>
#endif
