// Justification: orders are dispatched forward, then in reversed time from where they ended, then
// forward again, so that passes that had to wait move up to those that follow. The best solution on the
// way is kept. Valls, Ballestin and Quintanilla, Justification and RCPSP: a technique that pays (2005);
// Li and Willis (1992), as iterative forward and backward scheduling.
#pragma once

#include <ashlar/core/function_ref.hpp>
#include <ashlar/optimize/budget.hpp>
#include <ashlar/optimize/list_scheduler.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ashlar {

// Values in the order of the objective; nvcc needs both comparisons by name.
struct objective_value {
  tick first = max_tick, then = max_tick;

  friend constexpr bool operator==(objective_value const&, objective_value const&) = default;
  friend constexpr auto operator<=>(objective_value const&, objective_value const&) = default;
};

// The dispatch rules of the three kinds of runs, and how many rounds of the last two there are.
struct justification_options {
  dispatch_rule at_first, backward, forward;
  // In reversed time, devices end as far apart as they began, which is best for the span.
  bool skewed = false;
  int rounds = 1;
  // Every stash counts until its weight pass. Then no forward takes room early that it holds for long.
  bool holds = false;
};

// Called with the best solution and the number of passes dispatched since the last call; false ends the
// search. Searches that run on several threads call it at the same time.
using search_watch = function_ref<bool(list_scheduler::solution const&, std::int64_t)>;

// Never ends the search.
inline bool unwatched(list_scheduler::solution const&, std::int64_t) { return true; }

class justifier {
 public:
  // Searches orders for the passes of `s` within `limit`. Throws as the list scheduler does.
  justifier(schedule const& s, memory_limit const& limit, search_budget budget,
            search_watch watch = unwatched)
      : s_(s),
        scheduler_(s, limit),
        budget_(budget),
        size_(static_cast<std::int64_t>(pass_count(s))),
        random_(budget.seed),
        watch_(watch) {}

  schedule const& of() const { return s_; }
  precedence_graph const& passes() const { return scheduler_.passes(); }
  std::int64_t size() const { return size_; }
  std::int64_t spent() const { return spent_; }
  objective aim() const { return budget_.aim; }
  bool found() const { return found_; }
  list_scheduler::solution const& best() const { return best_; }
  schedule result() const { return timed(s_, passes(), best_); }

  // Whether more than `share` percent of the budget is spent, the goal reached, or the watch says no.
  bool is_over(std::int64_t share = 100) {
    std::int64_t const whole = budget_.passes / 100, rest = budget_.passes % 100;
    return spent_ >= whole * share + rest * share / 100 || is_solved()
           || !watch_(best_, spent_ - std::exchange(watched_, spent_));
  }
  bool is_solved() const { return found_ && judge(best_).first <= budget_.goal; }
  void spend(std::int64_t passes) { spent_ += passes; }

  // Sets the total budget, including the part that is spent, and a new seed.
  void set_budget(std::int64_t passes, std::uint64_t seed) {
    budget_.passes = passes;
    random_ = seed;
  }

  objective_value judge(list_scheduler::solution const& t) const;

  // Moves passes that had to wait for memory or inputs up to what follows. Returns the least objective
  // value on the way, which reached() has; that of no schedule, objective_value{}, where the devices
  // come to wait for each other at once. Orders whose first dispatch is above `cutoff` are not
  // justified.
  objective_value justify(list_scheduler::device_orders const& orders, justification_options const& how,
                          tick cutoff = max_tick);
  list_scheduler::solution const& reached() const { return reached_; }

  // Adopts a schedule of the same passes as it is, if better.
  void consider(schedule const& s);

  // Draws 0 .. below - 1, the same on every machine.
  std::size_t random(std::size_t below) {
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>((random_ >> 33U) % below);
  }
  tick random(tick low, tick high) {
    return low + static_cast<tick>(random(static_cast<std::size_t>(high - low + 1)));
  }

 private:
  bool run(list_scheduler::device_orders const& orders, dispatch_rule rule, bool holds,
           objective_value& least);

  void keep(list_scheduler::solution const& t, objective_value& least);

  // How much earlier than the last each device starts.
  static std::vector<tick> skew(list_scheduler::solution const& t);

  schedule s_;
  list_scheduler scheduler_;
  search_budget budget_;
  std::int64_t spent_ = 0, size_ = 0;
  std::int64_t watched_ = 0;  // the part of spent_ that the watch knows
  std::uint64_t random_;
  search_watch watch_;
  list_scheduler::solution now_, reversed_, reached_, best_;
  bool found_ = false;
};

// A random rule: any window, any tolerance.
dispatch_rule any_dispatch_rule(justifier& search);

justification_options any_justification(justifier& search, int rounds);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/optimize/justification.ipp>
#endif
