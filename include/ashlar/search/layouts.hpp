// The best of several layouts of one model, within one budget.
#pragma once

#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/core/function_ref.hpp>
#include <ashlar/optimize/budget.hpp>
#include <ashlar/search/portfolio.hpp>
#include <ashlar/search/search.hpp>
#include <ashlar/search/successive_halving.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// A layout and what a search found on it.
struct searched_layout {
  layout_choice choice;
  search_result result;
  objective aim = objective::span;

  // The bound of this layout alone: another may have a lower one (proved_of()).
  tick least() const { return result.bound_of(aim); }
  bool is_optimal() const { return result.reached == least(); }
  double gap() const { return ashlar::gap(result.reached, least()); }

  // Converts to the ticks of the costs given: the layout's own may be shorter.
  double in_ticks(tick t) const { return static_cast<double>(t) / static_cast<double>(choice.unit); }

  // The overhead of a time in ticks of the schedule, and of the time reached.
  double overhead_of(tick time) const { return overhead_within(result.best, time); }
  double overhead() const { return overhead_of(result.reached); }
};

// Index of the shortest one; the first of several.
std::size_t best_of(std::vector<searched_layout> const& all);

// The proof of a search of several layouts about the best: no schedule on any of them takes less than
// `least`.
struct proved_layouts {
  std::size_t best = 0;  // index
  tick least = 0;        // in ticks of the best, rounded down
  double gap = 0;        // share of that bound, not rounded, by which the best exceeds it
  bool is_optimal = false;
};

// Throws violation{rule::counts_are_positive} if `all` is empty.
proved_layouts proved_of(std::vector<searched_layout> const& all);

// Searches one layout with a share (0 .. 1) of the budget, in a round that is counted from 0.
using layout_search = function_ref<search_result(layout_choice const&, double share, int round)>;

// Runs successive halving; the winner receives half the total budget. Halves are ranked by the value
// reached plus the bound, which counts once for each round to come but the last, because little is spent
// by then. Layouts whose bound is no better than the incumbent go first, and their budget of the rounds
// to come goes to those left: so choices that are worse take little from the better ones. Returns them
// in the order given. The searches of a round are tasks for `for_each_task`; the result does not depend
// on it.
std::vector<searched_layout> search_layouts(std::vector<layout_choice> const& choices, objective aim,
                                            layout_search search_one,
                                            task_runner for_each_task = one_after_the_other);

// Searches with a budget in passes for all together. Throws as search() does.
std::vector<searched_layout> search_layouts(std::vector<layout_choice> const& choices,
                                            search_budget budget,
                                            task_runner for_each_task = one_after_the_other);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/search/layouts.ipp>
#endif
