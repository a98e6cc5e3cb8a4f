// A race of searches that differ in their seeds: the best go on, and copies of them take the place of
// the others. This is successive halving (Jamieson and Talwalkar, 2016), except that no search idles.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/optimize/modulo_search.hpp>
#include <ashlar/optimize/periodic_extension.hpp>
#include <ashlar/optimize/tabu_search.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ashlar {

// Runs f(0) ... f(n - 1), one after the other. Others of its kind may run them at the same time: they
// share nothing.
struct one_after_the_other {
  template <class F>
  constexpr void operator()(std::size_t n, F&& f) const {
    for (std::size_t i = 0; i < n; ++i) f(i);
  }
};

// Evaluations of a whole schedule that bring a search near to the best.
inline constexpr std::int64_t enough_evaluations = 1'250;

// One of several searches of the same problem.
template <class Watch>
class racer {
 public:
  constexpr racer(schedule const& s, memory_limit const& limit, search_budget budget, Watch watch)
      : limit_(limit), budget_(budget), engine_(s, limit, budget, watch) {}

  constexpr justifier<Watch>& engine() { return engine_; }
  constexpr justifier<Watch> const& engine() const { return engine_; }
  constexpr objective_value reached() const { return engine_.judge(engine_.best()); }

  // Half of the budget goes into plans, of long schedules modulo blocks first; half into tabu search. A
  // short search gains more from iterated local search. Choosy as improve_plans() is.
  constexpr void start(std::vector<schedule> const& seeds, bool is_choosy = false) {
    constexpr std::int64_t modulo_part = 40;  // percent
    schedule const& s = engine_.of();
    for (schedule const& each : seeds)
      if (is_within(each, limit_)) engine_.consider(each);
    if (has_delay_blocks(s) && is_long(s))
      improve_modulo_blocks(engine_, limit_, budget_.passes / 100 * modulo_part);
    tops_ = improve_plans(engine_, seeds, limit_, budget_, is_choosy);
    if (budget_.passes >= saturating_product(enough_evaluations, engine_.size()))
      iterated_tabu_search(engine_, limit_);
    else
      iterated_local_search(engine_);
  }

  // Until so many passes more are spent: climbs with delay blocks or does tabu search, the one of them
  // that gained more for what it took when it was last tried, or the other one if that gained nothing.
  constexpr void go_on(std::int64_t passes, std::uint64_t seed) {
    bool const other = now_.gained == 0 || other_.gained * now_.spent > now_.gained * other_.spent;
    if (other && has_delay_blocks(engine_.of())) {
      std::swap(now_, other_);
      climbs_ = !climbs_;
    }
    engine_.prolong(engine_.spent() + passes, seed);
    double const before = static_cast<double>(reached().first);
    std::int64_t const spent = engine_.spent();
    if (climbs_) {
      at_full_size evaluate(engine_, is_long(engine_.of()));
      hill_climb(engine_, limit_, evaluate, 100, tops_);
    } else {
      iterated_tabu_search(engine_, limit_);
    }
    now_ = {before - static_cast<double>(reached().first), static_cast<double>(engine_.spent() - spent)};
  }

 private:
  struct yield {
    double gained = 1, spent = 1;  // ticks, passes
  };

  memory_limit limit_;
  search_budget budget_;
  justifier<Watch> engine_;
  std::vector<candidate> tops_;
  bool climbs_ = false;
  yield now_, other_;  // of what was done last, and of the other
};

// How many searches race, each of them over a schedule of `size` passes: a power of two, as many as
// leave each enough to come near to the best alone. For long schedules this is no more than a few
// million passes: what repeats in them is found at a cost that does not grow with their length.
constexpr std::size_t racer_count(std::int64_t passes, std::int64_t size, bool is_long) {
  constexpr std::size_t most = 4;
  constexpr std::int64_t enough_if_long = 5'000'000;
  std::int64_t enough = saturating_product(enough_evaluations, size);
  if (is_long) enough = min_of(enough, enough_if_long);
  std::size_t count = 1;
  while (count < most && passes / enough >= static_cast<std::int64_t>(4 * count)) count *= 2;
  return count;
}

// Independent seeds from one (splitmix64: Steele, Lea and Flood 2014).
constexpr std::uint64_t seed_of(std::uint64_t seed, std::uint64_t which) {
  std::uint64_t z = seed + which * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

// What a race came to.
template <class Watch>
struct race_result {
  racer<Watch> first;
  std::int64_t passes = 0;  // dispatched by all
};

// Half of the budget goes to searches that begin by themselves, each with an equal share; then, four
// times, the worse half, three quarters ... of them become copies of the better ones, and all go on with
// an eighth of the budget between them. A short search comes first: what it solves needs no race.
// `for_each_task` runs f(0) ... f(n - 1), as one_after_the_other does, perhaps several at a time; what
// it comes to is the same. Each search has a copy of `watch`, which is called by several at a time then,
// and is told what its own has spent.
template <class Watch, class ForEachTask>
constexpr race_result<Watch> race(schedule const& s, std::vector<schedule> const& seeds,
                                  memory_limit const& limit, search_budget budget, Watch watch,
                                  ForEachTask const& for_each_task) {
  constexpr std::size_t rounds = 4, trial_part = 8;
  std::int64_t size = 1;
  for (auto const& order : s.order) size += static_cast<std::int64_t>(order.size());
  std::size_t const count = racer_count(budget.passes, size, is_long(s));
  auto const started = [&](std::int64_t passes, std::uint64_t seed) {
    search_budget part = budget;
    part.passes = passes;
    part.seed = seed;
    return racer<Watch>(s, limit, part, watch);
  };
  std::int64_t const share = budget.passes / static_cast<std::int64_t>(2 * count);
  racer<Watch> first =
      started(count == 1 ? budget.passes : share / static_cast<std::int64_t>(trial_part), budget.seed);
  first.start(seeds);
  std::int64_t passes = first.engine().spent();
  if (count == 1 || first.engine().is_solved()) return {std::move(first), passes};

  std::vector<racer<Watch>> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(started(share, seed_of(budget.seed, i)));
  for_each_task(count, [&](std::size_t i) { all[i].start(seeds, true); });
  for (racer<Watch> const& each : all) passes += each.engine().spent();
  for (std::size_t round = 1;; ++round) {
    std::vector<std::size_t> ranking;
    for (std::size_t i = 0; i < count; ++i) ranking.push_back(i);
    merge_sort(ranking,
               [&](std::size_t a, std::size_t b) { return all[a].reached() < all[b].reached(); });
    racer<Watch>& best = all[ranking[0]];
    if (round > rounds || best.engine().is_solved())
      return {std::move(first.reached() < best.reached() ? first : best), passes};
    std::size_t const kept = max_of<std::size_t>(count >> round, 1);
    std::vector<racer<Watch>> next;  // a watch can be copied, but perhaps not assigned
    for (std::size_t i = 0; i < count; ++i) {
      next.push_back(all[ranking[i % kept]]);
      passes -= next.back().engine().spent();
    }
    all.swap(next);
    for_each_task(count, [&](std::size_t i) {
      all[i].go_on(share / static_cast<std::int64_t>(rounds), seed_of(budget.seed, round * count + i));
    });
    for (racer<Watch> const& each : all) passes += each.engine().spent();
  }
}

}  // namespace ashlar
