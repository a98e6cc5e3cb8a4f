// Definitions of justification.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/optimize/justification.hpp>

#include <array>

namespace ashlar {

ASHLAR_INLINE objective_value justifier::judge(list_scheduler::solution const& t) const {
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

ASHLAR_INLINE objective_value justifier::justify(list_scheduler::device_orders const& orders,
                                                 justification_options const& how, tick cutoff) {
  objective_value least;
  if (!run(orders, how.at_first, how.holds, least) || least.first > cutoff) return least;
  for (int round = 0; round < how.rounds; ++round) {
    objective_value const before = least;
    spent_ += size_;
    // Named: g++ 12 frees a temporary of ?: twice in constant expressions.
    std::vector<tick> released;
    if (how.skewed) released = skew(now_);
    if (!scheduler_.run_reversed(now_.orders, how.backward, released, reversed_, how.holds)) break;
    if (budget_.aim != objective::both) keep(reversed_, least);
    if (!run(reversed_.orders, how.forward, how.holds, least) || (round > 0 && least == before)) break;
  }
  return least;
}

ASHLAR_INLINE void justifier::consider(schedule const& s) {
  list_scheduler::solution t{.orders = passes().orders_of(s),
                             .start = std::vector<tick>(passes().what.size(), 0)};
  tick first = max_tick;
  for (auto const& order : s.order)
    if (!order.empty()) first = min_of(first, order[0].start);
  for (std::size_t d = 0; d < s.order.size(); ++d)
    for (std::size_t i = 0; timed_pass const each : each_pass(s.order[d]))
      nth(t.start, t.orders[d][i++]) = each.start - first;
  scheduler_.measure(t);
  objective_value ignored;
  keep(t, ignored);
}

ASHLAR_INLINE bool justifier::run(list_scheduler::device_orders const& orders, dispatch_rule rule,
                                  bool holds, objective_value& least) {
  spent_ += size_;
  if (!scheduler_.run(orders, rule, {}, now_, holds)) return false;
  keep(now_, least);
  return true;
}

ASHLAR_INLINE void justifier::keep(list_scheduler::solution const& t, objective_value& least) {
  objective_value const s = judge(t);
  if (s < least) {
    least = s;
    reached_ = t;
  }
  if (!found_ || s < judge(best_)) best_ = t;
  found_ = true;
}

ASHLAR_INLINE std::vector<tick> justifier::skew(list_scheduler::solution const& t) {
  std::vector<tick> released;
  tick latest = 0;
  for (std::vector<int> const& order : t.orders) {
    released.push_back(order.empty() ? 0 : nth(t.start, order[0]));
    latest = max_of(latest, released.back());
  }
  for (tick& r : released) r = latest - r;
  return released;
}

ASHLAR_INLINE dispatch_rule any_dispatch_rule(justifier& search) {
  constexpr std::array<int, 11> windows{1, 2, 3, 4, 6, 8, 12, 16, 24, 48, 96};
  constexpr std::array<int, 7> tolerances{0, 10, 20, 30, 50, 70, 100};
  return {windows[search.random(windows.size())], tolerances[search.random(tolerances.size())]};
}

ASHLAR_INLINE justification_options any_justification(justifier& search, int rounds) {
  dispatch_rule const a = any_dispatch_rule(search), b = any_dispatch_rule(search),
                      c = any_dispatch_rule(search);
  bool const skewed = search.random(std::size_t{2}) == 0;
  bool const holds = !search.passes().late_gives.empty() && search.random(std::size_t{2}) == 0;
  return {a, b, c, skewed, rounds, holds};
}

}  // namespace ashlar
