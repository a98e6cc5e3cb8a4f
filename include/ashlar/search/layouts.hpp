// The best of several layouts of one model, within one budget.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/search/portfolio.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// A layout and what a search found on it.
struct searched_layout {
  layout_choice choice;
  search_result result;
  objective aim = objective::span;

  constexpr tick least() const { return result.bound_of(aim); }
  constexpr bool is_optimal() const { return result.reached == least(); }
  constexpr double gap() const { return ashlar::gap(result.reached, least()); }

  // In ticks of what the costs are of: the layout's own may be shorter.
  constexpr double in_ticks(tick t) const {
    return static_cast<double>(t) / static_cast<double>(choice.unit);
  }

  // Of a time in ticks of the schedule, and of what was reached.
  constexpr double overhead_of(tick time) const { return overhead_within(result.best, time); }
  constexpr double overhead() const { return overhead_of(result.reached); }
};

// Index of the shortest one; the first of several.
constexpr std::size_t best_of(std::vector<searched_layout> const& all) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i].in_ticks(all[i].result.reached) < all[best].in_ticks(all[best].result.reached)) best = i;
  return best;
}

// Successive halving; the winner receives half the total budget. Halves are ranked by what is reached
// plus the bound, which counts once for each round to come but the last, because little is spent by
// then. Layouts whose bound is no better than the incumbent go first, and what the rounds to come would
// have spent on them goes to those left: so choices that are worse take little from the better ones.
// `search_one`: of a layout, with a share (0 .. 1) of the budget and, counted from 0, the round, gives
// the search_result. In the order given. The searches of a round are tasks for `for_each_task`; the
// result does not depend on it.
template <class SearchOne, class ForEachTask = one_after_the_other>
constexpr std::vector<searched_layout> search_layouts(std::vector<layout_choice> const& choices,
                                                      objective aim, SearchOne search_one,
                                                      ForEachTask const& for_each_task = {}) {
  std::vector<searched_layout> all;
  std::vector<std::size_t> left;
  for (layout_choice const& c : choices) {
    left.push_back(all.size());
    all.push_back({c, {}, aim});
  }
  double spent = 0;
  for (int round = 0; !left.empty(); ++round) {
    int rounds = 0;  // before the best is alone
    for (std::size_t n = left.size(); n > 1; n = (n + 1) / 2) ++rounds;
    double const part = rounds == 0 ? 1 - spent : (0.5 - spent) / rounds;
    spent += part;
    for_each_task(left.size(), [&](std::size_t which) {
      searched_layout& one = all[left[which]];
      search_result& known = one.result;
      search_result again = search_one(one.choice, part / static_cast<double>(left.size()), round);
      again.passes += known.passes;
      again.evaluations += known.evaluations;
      if (round > 0 && again.reached >= known.reached) {
        known.passes = again.passes;
        known.evaluations = again.evaluations;
      } else {
        known = static_cast<search_result&&>(again);
      }
    });
    if (rounds == 0) break;
    searched_layout const& best = all[best_of(all)];
    double const reached = best.in_ticks(best.result.reached);
    auto const hopeless = [&](std::size_t i) { return all[i].in_ticks(all[i].least()) >= reached; };
    left.erase(std::remove_if(left.begin(), left.end(), hopeless), left.end());
    auto const length = [&](std::size_t i) {
      return all[i].in_ticks(all[i].result.reached + (rounds - 1) * all[i].least());
    };
    merge_sort(left, [&](std::size_t a, std::size_t b) {
      return length(a) < length(b) || (length(a) == length(b) && a < b);
    });
    left.resize((left.size() + 1) / 2);
  }
  return all;
}

// With a budget in passes for all together. Throws as search() does.
template <class ForEachTask = one_after_the_other>
constexpr std::vector<searched_layout> search_layouts(std::vector<layout_choice> const& choices,
                                                      search_budget budget,
                                                      ForEachTask const& for_each_task = {}) {
  auto const search_one = [&](layout_choice const& c, double share, int round) {
    search_budget part = budget;
    part.passes = static_cast<std::int64_t>(static_cast<double>(budget.passes) * share);
    part.seed += static_cast<std::uint64_t>(round);
    return search(c.problem, part, unwatched{}, for_each_task);
  };
  return search_layouts(choices, budget.aim, search_one, for_each_task);
}

}  // namespace ashlar
