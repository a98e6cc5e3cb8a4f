// Successive halving (Jamieson and Talwalkar, 2016): several searches start with different seeds, and
// copies of the best repeatedly replace the worst. Unlike in the paper, no search idles.
#pragma once

#include <ashlar/core/function_ref.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/optimize/budget.hpp>
#include <ashlar/optimize/hill_climb.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// Runs f(0) ... f(n - 1), possibly several at a time. They share no data.
using task_runner = function_ref<void(std::size_t n, function_ref<void(std::size_t)> f)>;

// A task_runner without threads.
inline void one_after_the_other(std::size_t n, function_ref<void(std::size_t)> f) {
  for (std::size_t i = 0; i < n; ++i) f(i);
}

// After this many evaluations of a whole schedule, a search gains little more.
inline constexpr std::int64_t enough_evaluations = 1'250;

// One of several searches of the same problem.
class seeded_search {
 public:
  // Searches orders for the passes of `s`; the seed is the budget's. Throws as justifier does.
  seeded_search(schedule const& s, memory_limit const& limit, search_budget budget, search_watch watch)
      : limit_(limit), budget_(budget), engine_(s, limit, budget, watch) {}

  justifier& engine() { return engine_; }
  justifier const& engine() const { return engine_; }
  objective_value reached() const { return engine_.judge(engine_.best()); }

  // The first half of the budget is for improve_orders(), for long schedules after modulo blocks. The
  // second half is for tabu search, or for iterated local search if the budget is small. `prunes`: as in
  // improve_orders().
  void start(std::vector<schedule> const& seeds, bool prunes = false);

  // Runs a beam search as wide as the time of dispatching that many passes allows, if that is not
  // narrow.
  void beam(std::int64_t passes);

  // Dispatches that many passes more. It continues with hill climbing or with tabu search: with the one
  // that last gained more per dispatched pass, or with the other one if that gained nothing.
  void resume(std::int64_t passes, std::uint64_t seed);

 private:
  struct yield {
    double gained = 1, spent = 1;  // ticks, passes
  };

  memory_limit limit_;
  search_budget budget_;
  justifier engine_;
  std::vector<candidate> tops_;
  bool climbs_ = false;
  yield now_, other_;  // of the method used last, and of the other one
};

// The number of searches that share a budget of `passes`, for a schedule of `size` passes: 1, 2 or 4,
// such that each has a budget with which it comes near to the best alone. For long schedules a few
// million passes are enough, because the cost of finding what repeats does not grow with their length.
std::size_t search_count(std::int64_t passes, std::int64_t size, bool is_long);

// Makes independent seeds from one (splitmix64).
std::uint64_t seed_of(std::uint64_t seed, std::uint64_t which);

// The result of successive_halving().
struct halving_result {
  seeded_search first;      // the best
  std::int64_t passes = 0;  // dispatched by all
};

// Whether no device has room for a forward more than it needs to run one micro-batch at a time. Requires
// a limit for the schedule. O(stages * devices).
bool has_least_memory(schedule const& s, memory_limit const& limit);

// A short search comes first, and a beam search with an eighth of the budget if that is no narrow beam,
// or with half of it at the least memory; if they reach the goal, there is no other. Divides half of the
// rest equally among search_count() searches. Four rounds follow: the best n / 2^k survive round k and
// are cloned to n again, and all resume with an eighth. The result does not depend on `for_each_task`.
// Throws as justifier does.
halving_result successive_halving(schedule const& s, std::vector<schedule> const& seeds,
                                  memory_limit const& limit, search_budget budget, search_watch watch,
                                  task_runner for_each_task);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/search/successive_halving.ipp>
#endif
