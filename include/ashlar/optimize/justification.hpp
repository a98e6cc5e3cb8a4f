// Justification: a plan is dispatched forward, then in reversed time from where it ended, then forward
// again, so that passes that had to wait move up to those that follow. The best timeline on the way is
// kept. Valls, Ballestin and Quintanilla, Justification and RCPSP: a technique that pays (2005); Li and
// Willis (1992), as iterative forward and backward scheduling.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/optimize/budget.hpp>
#include <ashlar/optimize/list_scheduler.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// In the order of the objective; nvcc needs both comparisons by name.
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
};

// Observer that never stops the search.
struct unwatched {
  constexpr bool operator()(list_scheduler::timeline const&, std::int64_t) { return true; }
};

// `Watch`: called with the best timeline and the passes dispatched so far; false ends the search.
template <class Watch = unwatched>
class justifier {
 public:
  // Searches orders for the passes of `s` within `limit`. Throws as the list scheduler does.
  constexpr justifier(schedule const& s, memory_limit const& limit, search_budget budget,
                      Watch watch = {})
      : s_(s), scheduler_(s, limit), budget_(budget), random_(budget.seed), watch_(watch) {
    for (auto const& order : s.order) size_ += static_cast<std::int64_t>(order.size());
  }

  constexpr schedule const& of() const { return s_; }
  constexpr precedence_graph const& passes() const { return scheduler_.passes(); }
  constexpr std::int64_t size() const { return size_; }
  constexpr std::int64_t spent() const { return spent_; }
  constexpr objective aim() const { return budget_.aim; }
  constexpr bool found() const { return found_; }
  constexpr list_scheduler::timeline const& best() const { return best_; }
  constexpr schedule result() const { return timed(s_, passes(), best_); }

  // Whether more than `share` percent of the budget is spent, the goal reached, or the watch says no.
  constexpr bool is_over(std::int64_t share = 100) {
    return spent_ >= budget_.passes * share / 100 || is_solved() || !watch_(best_, spent_);
  }
  constexpr bool is_solved() const { return found_ && judge(best_).first <= budget_.goal; }
  constexpr void spend(std::int64_t passes) { spent_ += passes; }

  // Goes on with another budget in all, and with other random numbers.
  constexpr void prolong(std::int64_t passes, std::uint64_t seed) {
    budget_.passes = passes;
    random_ = seed;
  }

  constexpr objective_value judge(list_scheduler::timeline const& t) const {
    switch (budget_.aim) {
      case objective::span:
        return {t.span, t.makespan};
      case objective::makespan:
      case objective::program:
        return {t.makespan, t.span};
      case objective::both:
        break;
    }
    return {t.makespan + 3 * t.span, 0};
  }

  // What had to wait for memory or inputs closes up with what follows. Returns the least objective value
  // on the way, which reached() has; that of no schedule, objective_value{}, where the plan gets stuck
  // at once. A plan whose first dispatch is above `hopeless` is not taken further.
  constexpr objective_value justify(list_scheduler::plan const& planned,
                                    justification_options const& how, tick hopeless = max_tick) {
    objective_value least;
    if (!run(planned, how.at_first, least) || least.first > hopeless) return least;
    for (int round = 0; round < how.rounds; ++round) {
      objective_value const before = least;
      spent_ += size_;
      // Named: g++ 12 frees a temporary of ?: twice in constant expressions.
      std::vector<tick> released;
      if (how.skewed) released = skew(now_);
      if (!scheduler_.run_reversed(now_.orders, how.backward, released, reversed_)) break;
      if (budget_.aim != objective::both) keep(reversed_, least);
      if (!run(reversed_.orders, how.forward, least) || (round > 0 && least == before)) break;
    }
    return least;
  }
  constexpr list_scheduler::timeline const& reached() const { return reached_; }

  // A schedule of the same passes as it is, where that is better.
  constexpr void consider(schedule const& s) {
    list_scheduler::timeline t{.orders = passes().planned_like(s),
                               .start = std::vector<tick>(passes().what.size(), 0)};
    tick first = max_tick;
    for (auto const& order : s.order)
      if (!order.empty()) first = min_of(first, order[0].start);
    for (std::size_t d = 0; d < s.order.size(); ++d)
      for (std::size_t i = 0; i < s.order[d].size(); ++i)
        nth(t.start, t.orders[d][i]) = s.order[d][i].start - first;
    scheduler_.measure(t);
    objective_value ignored;
    keep(t, ignored);
  }

  // 0 .. below - 1, the same on every machine.
  constexpr std::size_t random(std::size_t below) {
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>((random_ >> 33U) % below);
  }
  constexpr tick random(tick low, tick high) {
    return low + static_cast<tick>(random(static_cast<std::size_t>(high - low + 1)));
  }

 private:
  constexpr bool run(list_scheduler::plan const& planned, dispatch_rule rule, objective_value& least) {
    spent_ += size_;
    if (!scheduler_.run(planned, rule, {}, now_)) return false;
    keep(now_, least);
    return true;
  }

  constexpr void keep(list_scheduler::timeline const& t, objective_value& least) {
    objective_value const s = judge(t);
    if (s < least) {
      least = s;
      reached_ = t;
    }
    if (!found_ || s < judge(best_)) best_ = t;
    found_ = true;
  }

  // By how much earlier than the last each device starts.
  static constexpr std::vector<tick> skew(list_scheduler::timeline const& t) {
    std::vector<tick> released;
    tick latest = 0;
    for (std::vector<int> const& order : t.orders) {
      released.push_back(order.empty() ? 0 : nth(t.start, order[0]));
      latest = max_of(latest, released.back());
    }
    for (tick& r : released) r = latest - r;
    return released;
  }

  schedule s_;
  list_scheduler scheduler_;
  search_budget budget_;
  std::int64_t spent_ = 0, size_ = 0;
  std::uint64_t random_;
  Watch watch_;
  list_scheduler::timeline now_, reversed_, reached_, best_;
  bool found_ = false;
};

// Any window, any tolerance.
template <class Search>
constexpr dispatch_rule any_dispatch_rule(Search& search) {
  constexpr std::array<int, 11> windows{1, 2, 3, 4, 6, 8, 12, 16, 24, 48, 96};
  constexpr std::array<int, 7> tolerances{0, 10, 20, 30, 50, 70, 100};
  return {windows[search.random(windows.size())], tolerances[search.random(tolerances.size())]};
}

template <class Search>
constexpr justification_options any_justification(Search& search, int rounds) {
  dispatch_rule const a = any_dispatch_rule(search), b = any_dispatch_rule(search),
                      c = any_dispatch_rule(search);
  return {a, b, c, search.random(std::size_t{2}) == 0, rounds};
}

}  // namespace ashlar
