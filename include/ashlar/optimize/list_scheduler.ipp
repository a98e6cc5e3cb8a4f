// Definitions of list_scheduler.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/optimize/list_scheduler.hpp>

#include <utility>

namespace ashlar {

ASHLAR_INLINE list_scheduler::list_scheduler(schedule const& s, memory_limit const& limit)
    : graph_(s, limit.memory), p_(s.order.size()), state_(p_) {
  for (int d = 0; d < s.device_count(); ++d) {
    limit_.push_back(limit.free_on(s.where, d));
    for (int other = 0; other < s.device_count(); ++other)
      transfer_.push_back(s.cost.transfer(d, other));
  }
}

ASHLAR_INLINE bool list_scheduler::run_reversed(device_orders const& orders, dispatch_rule rule,
                                                std::vector<tick> const& released, solution& out,
                                                bool holds) {
  device_orders turned = orders;
  for (std::vector<int>& order : turned) reverse(order);
  if (!walk(turned, rule, released, out, {.reversed = true, .holds = holds})) return false;
  for (std::vector<int>& order : out.orders) reverse(order);
  for (std::size_t x = 0; x < graph_.what.size(); ++x)
    out.start[x] = out.makespan - out.start[x] - graph_.length[x];
  return true;
}

ASHLAR_INLINE void list_scheduler::measure(solution& out) const {
  out.makespan = out.span = 0;
  for (std::vector<int> const& order : out.orders) {
    if (order.empty()) continue;
    tick const end = end_of(out, order.back());
    tick const time = end - nth(out.start, order.front());
    out.makespan = end > out.makespan ? end : out.makespan;
    out.span = time > out.span ? time : out.span;
  }
}

ASHLAR_INLINE bool list_scheduler::walk(device_orders const& orders, dispatch_rule rule,
                                        std::vector<tick> const& released, solution& out, reading how) {
  bool const reversed = how.reversed;
  takes_ = &graph_.takes;
  gives_ = how.holds && !graph_.late_gives.empty() ? &graph_.late_gives : &graph_.gives;
  if (reversed) std::swap(takes_, gives_);
  lists<int> const& needs = reversed ? graph_.feeds : graph_.needs;
  lists<int> const& feeds = reversed ? graph_.needs : graph_.feeds;
  std::size_t const n = graph_.what.size();
  missing_.assign(n, 0);
  ready_.assign(n, 0);
  next_.assign(n, nobody);
  for (std::size_t x = 0; x < n; ++x) missing_[x] = static_cast<int>(needs[x].size());
  for (device_state& each : state_) each = {};
  out.orders.assign(p_, {});
  out.start.assign(n, 0);
  for (std::size_t d = 0; d < p_; ++d) {
    if (!released.empty()) state_[d].free = released[d];
    state_[d].limit = limit_[d];
    if (orders[d].empty()) continue;
    state_[d].head = orders[d][0];
    for (int x : orders[d]) state_[d].streams |= nth(graph_.stream, x);
    for (std::size_t i = 1; i < orders[d].size(); ++i) nth(next_, orders[d][i - 1]) = orders[d][i];
  }

  for (std::size_t done = 0; done < n; ++done) {
    std::size_t device = p_;
    for (std::size_t d = 0; d < p_; ++d) {
      if (state_[d].stale) choose(state_[d], rule);
      if (state_[d].pick != nobody && (device == p_ || state_[d].pick_start < state_[device].pick_start))
        device = d;
    }
    if (device == p_) return false;
    device_state& at = state_[device];
    auto const x = static_cast<std::size_t>(at.pick);
    (at.before_pick == nobody ? at.head : nth(next_, at.before_pick)) = next_[x];
    out.orders[device].push_back(at.pick);
    out.start[x] = at.pick_start;
    at.free = at.pick_start + graph_.length[x];
    at.held += takes(x) - gives(x);
    at.stale = true;
    for (int const fed : feeds[x]) {
      auto const y = static_cast<std::size_t>(fed);
      auto const other = static_cast<std::size_t>(graph_.device[y]);
      tick const hop = reversed ? transfer_[other * p_ + device] : transfer_[device * p_ + other];
      ready_[y] = max_of(ready_[y], at.free + hop);
      if (--missing_[y] == 0) state_[other].stale = true;
    }
  }
  measure(out);
  return true;
}

ASHLAR_INLINE void list_scheduler::choose(device_state& at, dispatch_rule rule) {
  at.stale = false;
  at.pick = nobody;
  int before = nobody;
  std::int64_t held = at.held, most = at.held;  // where those that it overtakes ran before it
  std::uint64_t overtaken = 0;
  tick latest_end = max_tick;
  for (int x = at.head, seen = 0; x != nobody && seen < rule.window;
       before = x, x = nth(next_, x), ++seen) {
    auto const i = static_cast<std::size_t>(x);
    byte_count const own = takes(i);
    if (missing_[i] == 0) {
      tick const start = ready_[i] > at.free ? ready_[i] : at.free;
      bool const fits = own == 0 || (at.held + own <= at.limit && most + own - gives(i) <= at.limit);
      if (fits && (overtaken & graph_.stream[i]) == 0 && start + graph_.length[i] <= latest_end
          && (at.pick == nobody || start < at.pick_start)) {
        at.pick = x;
        at.before_pick = before;
        at.pick_start = start;
        if (start == at.free) return;
      }
      tick const end = start + graph_.length[i] * rule.tolerance / 100;
      if (fits && end < latest_end) latest_end = end;
    }
    most = max_of(most, held + own);
    held += own - gives(i);
    overtaken |= graph_.stream[i];
    if (overtaken == at.streams) return;
  }
}

ASHLAR_INLINE schedule timed(schedule s, precedence_graph const& passes,
                             list_scheduler::solution const& t) {
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    s.order[d].clear();
    for (int x : t.orders[d]) s.order[d].push_back({nth(passes.what, x), nth(t.start, x)});
  }
  return s;
}

}  // namespace ashlar
