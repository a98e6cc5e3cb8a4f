// Definitions of layouts.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/optimize/justification.hpp>
#include <ashlar/search/layouts.hpp>

#include <algorithm>
#include <cstdint>

namespace ashlar::search_detail {

// Whether a / b < c / d for b, d > 0, without rounding: the whole parts decide, else the reciprocals of
// the rests.
ASHLAR_INLINE bool is_less(tick a, tick b, tick c, tick d) {
  for (bool answer = true;; answer = !answer) {
    tick const first = floor_quotient(a, b), second = floor_quotient(c, d);
    if (first != second) return (first < second) == answer;
    tick const rest = a - first * b, other = c - second * d;
    if (rest == 0 || other == 0) return answer ? rest == 0 && other != 0 : other == 0 && rest != 0;
    a = b;
    b = rest;
    c = d;
    d = other;
  }
}

}  // namespace ashlar::search_detail

namespace ashlar {

ASHLAR_INLINE std::size_t best_of(std::vector<searched_layout> const& all) {
  std::size_t best = 0;
  for (searched_layout const& one : all)
    if (one.choice.unit < 1) refuse({.broken = rule::counts_are_positive, .number = one.choice.unit});
  for (std::size_t i = 1; i < all.size(); ++i)
    if (search_detail::is_less(all[i].result.reached, all[i].choice.unit, all[best].result.reached,
                               all[best].choice.unit))
      best = i;
  return best;
}

ASHLAR_INLINE proved_layouts proved_of(std::vector<searched_layout> const& all) {
  if (all.empty()) refuse({.broken = rule::counts_are_positive});
  proved_layouts found{.best = best_of(all)};
  searched_layout const& best = all[found.best];
  searched_layout const* lowest = &all[0];
  for (searched_layout const& one : all)
    if (search_detail::is_less(one.least(), one.choice.unit, lowest->least(), lowest->choice.unit))
      lowest = &one;
  tick const bound = lowest->least(), unit = lowest->choice.unit, finer = best.choice.unit;
  found.least = saturating_sum(saturating_product(bound / unit, finer),
                               saturating_product(bound % unit, finer) / unit);
  found.is_optimal = !search_detail::is_less(bound, unit, best.result.reached, finer);
  if (!found.is_optimal)
    found.gap = ashlar::gap(best.in_ticks(best.result.reached), lowest->in_ticks(bound));
  return found;
}

ASHLAR_INLINE std::vector<searched_layout> search_layouts(std::vector<layout_choice> const& choices,
                                                          objective aim, layout_search search_one,
                                                          task_runner for_each_task) {
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
    auto const is_ruled_out = [&](std::size_t i) { return all[i].in_ticks(all[i].least()) >= reached; };
    left.erase(std::remove_if(left.begin(), left.end(), is_ruled_out), left.end());
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

ASHLAR_INLINE std::vector<searched_layout> search_layouts(std::vector<layout_choice> const& choices,
                                                          search_budget budget,
                                                          task_runner for_each_task) {
  auto const search_one = [&](layout_choice const& c, double share, int round) {
    search_budget part = budget;
    part.passes = static_cast<std::int64_t>(static_cast<double>(budget.passes) * share);
    part.seed += static_cast<std::uint64_t>(round);
    return search(c.problem, part, unwatched, for_each_task);
  };
  return search_layouts(choices, budget.aim, search_one, for_each_task);
}

}  // namespace ashlar
