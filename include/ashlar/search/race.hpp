// A race of searches that differ in their seeds: the best go on, and copies of them take the place of
// the others. This is successive halving (Jamieson and Talwalkar, 2016), except that no search idles.
#pragma once

#include <ashlar/core/function_ref.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/optimize/budget.hpp>
#include <ashlar/optimize/hill_climb.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// Runs f(0) ... f(n - 1), which share nothing: perhaps several at a time.
using task_runner = function_ref<void(std::size_t n, function_ref<void(std::size_t)> f)>;

inline void one_after_the_other(std::size_t n, function_ref<void(std::size_t)> f) {
  for (std::size_t i = 0; i < n; ++i) f(i);
}

// Evaluations of a whole schedule that bring a search near to the best.
inline constexpr std::int64_t enough_evaluations = 1'250;

// One of several searches of the same problem.
class racer {
 public:
  racer(schedule const& s, memory_limit const& limit, search_budget budget, search_watch watch)
      : limit_(limit), budget_(budget), engine_(s, limit, budget, watch) {}

  justifier& engine() { return engine_; }
  justifier const& engine() const { return engine_; }
  objective_value reached() const { return engine_.judge(engine_.best()); }

  // Half of the budget goes into plans, of long schedules modulo blocks first; half into tabu search. A
  // short search gains more from iterated local search. Choosy as improve_plans() is.
  void start(std::vector<schedule> const& seeds, bool is_choosy = false);

  // Until so many passes more are spent: climbs with delay blocks or does tabu search, the one of them
  // that gained more for what it took when it was last tried, or the other one if that gained nothing.
  void go_on(std::int64_t passes, std::uint64_t seed);

 private:
  struct yield {
    double gained = 1, spent = 1;  // ticks, passes
  };

  memory_limit limit_;
  search_budget budget_;
  justifier engine_;
  std::vector<candidate> tops_;
  bool climbs_ = false;
  yield now_, other_;  // of what was done last, and of the other
};

// How many searches race, each of them over a schedule of `size` passes: a power of two, as many as
// leave each enough to come near to the best alone. For long schedules this is no more than a few
// million passes: what repeats in them is found at a cost that does not grow with their length.
std::size_t racer_count(std::int64_t passes, std::int64_t size, bool is_long);

// Independent seeds from one (splitmix64: Steele, Lea and Flood 2014).
std::uint64_t seed_of(std::uint64_t seed, std::uint64_t which);

// What a race came to.
struct race_result {
  racer first;
  std::int64_t passes = 0;  // dispatched by all
};

// Half of the budget goes to searches that begin by themselves, each with an equal share; then, four
// times, the worse half, three quarters ... of them become copies of the better ones, and all go on with
// an eighth of the budget between them. A short search comes first: what it solves needs no race.
// The result does not depend on `for_each_task`.
race_result race(schedule const& s, std::vector<schedule> const& seeds, memory_limit const& limit,
                 search_budget budget, search_watch watch, task_runner for_each_task);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/search/race.ipp>
#endif
