// The best schedule for real costs under a memory limit, and how good it is.
#pragma once

#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/search/problem.hpp>
#include <ashlar/search/successive_halving.hpp>

#include <cstdint>
#include <vector>

namespace ashlar {

// The result of search(). Times are ticks.
struct search_result {
  schedule best = {};
  tick reached = 0;              // the value of the objective
  bound least = {};              // no schedule is shorter
  std::int64_t passes = 0;       // dispatched
  std::int64_t evaluations = 0;  // of whole schedules

  // The lower bound on the value of this objective.
  tick bound_of(objective aim) const {
    if (aim == objective::both) return least.makespan + 3 * least.span;
    return aim == objective::span ? least.span : least.makespan;
  }
};

namespace search_detail {

simulation_options machine_of(search_problem const& problem);

}  // namespace search_detail

// The schedules that a search begins with; made once, they serve several searches of the same problem.
// Throws violation{check(problem)}. O(passes) times the seeds and as problem_bound().
struct search_start {
  std::vector<schedule> seeds;
  bound least;

  // Makes the published schedules for the problem's placement, under its costs, and the bound.
  explicit search_start(search_problem const& problem);

  // Adds a schedule to begin with, for the same problem: its order is put under the problem's costs, its
  // backwards are split, its pairs undone, and the stages that the problem recomputes are recomputed.
  // Throws violation{check_start(problem, s)}. O(passes).
  void add(search_problem const& problem, schedule s);
};

// Searches with all that the catalog has on this placement as a start: no worse than any of them that
// fits. Ends at the bound. It runs successive_halving(), each search a task for `for_each_task`. The
// result depends on the budget alone.
search_result search(search_problem const& problem, search_start const& start, search_budget budget,
                     search_watch watch = unwatched, task_runner for_each_task = one_after_the_other);

// Throws violation{check(problem)}.
inline search_result search(search_problem const& problem, search_budget budget,
                            search_watch watch = unwatched,
                            task_runner for_each_task = one_after_the_other) {
  return search(problem, search_start(problem), budget, watch, for_each_task);
}

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/search/search.ipp>
#endif
