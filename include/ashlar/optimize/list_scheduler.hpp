// List scheduling of a plan, an order of passes for each device: whenever a device is free, it takes one
// of the next few passes of its list. The same loop runs in forward and in reversed time.
//
// Source: the parallel schedule generation scheme of resource-constrained project scheduling (Kolisch,
// Serial and parallel resource-constrained project scheduling methods revisited, 1996).
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/optimize/precedence_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ashlar {

// The priority rule within a plan: how far a device may leave its order.
struct dispatch_rule {
  int window = 1;       // how many passes of its plan a device looks at
  int tolerance = 100;  // percent of a pass's length by which one that could start may be delayed

  friend constexpr bool operator==(dispatch_rule const&, dispatch_rule const&) = default;
};

// A precedence graph of passes, ready to be dispatched again and again.
class list_scheduler {
 public:
  using plan = precedence_graph::plan;
  static constexpr int nobody = precedence_graph::nobody;

  // Throws as precedence_graph does.
  constexpr list_scheduler(schedule const& s, memory_limit const& limit)
      : graph_(s, limit.memory), p_(s.order.size()), state_(p_) {
    for (int d = 0; d < s.device_count(); ++d) {
      limit_.push_back(limit.free_on(s.where, d));
      for (int other = 0; other < s.device_count(); ++other)
        transfer_.push_back(s.cost.transfer(d, other));
    }
  }

  constexpr precedence_graph const& passes() const { return graph_; }

  // What a run gives.
  struct timeline {
    plan orders;              // as run
    std::vector<tick> start;  // by pass
    tick makespan = 0, span = 0;
  };

  // Runs `planned` in forward time, every device free from `released` on (or from 0); false if the
  // devices come to wait for each other, as they may where the plan itself exceeds the limit. O(passes
  // (devices + window)).
  constexpr bool run(plan const& planned, dispatch_rule rule, std::vector<tick> const& released,
                     timeline& out) {
    return walk(planned, rule, released, out, false);
  }

  // The same in reversed time: `planned` is read from its end, backwards take memory and forwards give
  // it back. `out` is in forward time again, its first pass at 0.
  constexpr bool run_reversed(plan const& planned, dispatch_rule rule, std::vector<tick> const& released,
                              timeline& out) {
    plan turned = planned;
    for (std::vector<int>& order : turned) reverse(order);
    if (!walk(turned, rule, released, out, true)) return false;
    for (std::vector<int>& order : out.orders) reverse(order);
    for (std::size_t x = 0; x < graph_.what.size(); ++x)
      out.start[x] = out.makespan - out.start[x] - graph_.length[x];
    return true;
  }

  constexpr tick end_of(timeline const& t, int number) const {
    auto const x = static_cast<std::size_t>(number);
    return t.start[x] + graph_.length[x];
  }

  // Finds makespan and span from the orders and starts.
  constexpr void measure(timeline& out) const {
    out.makespan = out.span = 0;
    for (std::vector<int> const& order : out.orders) {
      if (order.empty()) continue;
      tick const end = end_of(out, order.back());
      tick const time = end - nth(out.start, order.front());
      out.makespan = end > out.makespan ? end : out.makespan;
      out.span = time > out.span ? time : out.span;
    }
  }

 private:
  struct device_state {
    tick free = 0;
    int head = nobody;  // first of the plan that has not run
    std::int64_t held = 0, limit = 0;
    int pick = nobody;  // what it would run next
    int before_pick = nobody;
    tick pick_start = 0;
    std::uint64_t streams = 0;  // all of the device
    bool stale = true;
  };

  // What the device holds more from the start of pass x, and less from its end.
  constexpr byte_count takes(std::size_t x) const {
    return (reversed_ ? graph_.gives : graph_.takes)[x];
  }
  constexpr byte_count gives(std::size_t x) const {
    return (reversed_ ? graph_.takes : graph_.gives)[x];
  }

  constexpr bool walk(plan const& planned, dispatch_rule rule, std::vector<tick> const& released,
                      timeline& out, bool reversed) {
    reversed_ = reversed;
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
      if (planned[d].empty()) continue;
      state_[d].head = planned[d][0];
      for (int x : planned[d]) state_[d].streams |= nth(graph_.stream, x);
      for (std::size_t i = 1; i < planned[d].size(); ++i) nth(next_, planned[d][i - 1]) = planned[d][i];
    }

    for (std::size_t done = 0; done < n; ++done) {
      std::size_t device = p_;
      for (std::size_t d = 0; d < p_; ++d) {
        if (state_[d].stale) choose(state_[d], rule);
        if (state_[d].pick != nobody
            && (device == p_ || state_[d].pick_start < state_[device].pick_start))
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
        tick const arrival = at.free + transfer_[device * p_ + other];
        ready_[y] = arrival > ready_[y] ? arrival : ready_[y];
        if (--missing_[y] == 0) state_[other].stale = true;
      }
    }
    measure(out);
    return true;
  }

  // Earliest-starting pass in the window that fits memory, even after those it overtakes, and delays
  // none beyond tolerance. FIFO per (stage, kind).
  constexpr void choose(device_state& at, dispatch_rule rule) {
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

  precedence_graph graph_;
  std::size_t p_;
  std::vector<tick> transfer_;  // from device to device
  std::vector<std::int64_t> limit_;

  bool reversed_ = false;
  std::vector<int> missing_;
  std::vector<tick> ready_;
  std::vector<int> next_;
  dynamic_array<device_state> state_;
};

// `s` with the orders and starts of a timeline of its `passes`.
constexpr schedule timed(schedule s, precedence_graph const& passes, list_scheduler::timeline const& t) {
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    s.order[d].clear();
    for (int x : t.orders[d]) s.order[d].push_back({nth(passes.what, x), nth(t.start, x)});
  }
  return s;
}

}  // namespace ashlar
