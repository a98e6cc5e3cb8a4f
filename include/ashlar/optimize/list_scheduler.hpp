// From planned orders to better ones: each device takes, of the next few passes of its plan, the one
// that can start first. The same loop runs in forward and in reversed time.
//
// Sources: parallel schedule generation and forward-backward improvement ("justification") of
// resource-constrained project scheduling (Li and Willis, 1992; Valls et al., 2005).
#pragma once

#include <ashlar/optimize/precedence_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ashlar {

// How far a device may leave its plan.
struct freedom {
  int window = 1;          // how many passes of its plan a device looks at
  int patience = 100;      // percent of a pass's length by which one that could start may be held up
  bool ends_only = false;  // only before a device's first backward and after its last forward

  friend constexpr bool operator==(freedom const&, freedom const&) = default;
};

// A network of passes, ready to be dispatched again and again.
class dispatcher {
 public:
  using plan = pass_network::plan;
  static constexpr int nobody = pass_network::nobody;

  // Throws as pass_network does.
  constexpr dispatcher(schedule const& s, memory_limit const& limit)
      : net_(s, limit), p_(s.order.size()), transfer_(s.cost.transfer) {
    for (std::size_t d = 0; d < p_; ++d) limit_.push_back(limit.on(static_cast<int>(d)));
  }

  constexpr pass_network const& passes() const { return net_; }

  // What a run gives.
  struct timeline {
    plan orders;              // as run
    std::vector<tick> start;  // by pass
    tick makespan = 0, span = 0;
  };

  // Runs `planned` in forward time, every device free from `released` on (or from 0); false if the
  // devices come to wait for each other, as they may where the plan itself exceeds the limit. O(passes
  // (devices + window)).
  constexpr bool run(plan const& planned, freedom f, std::vector<tick> const& released, timeline& out) {
    return walk(planned, f, released, out, false);
  }

  // The same in reversed time: `planned` is read from its end, backwards take memory and forwards give
  // it back. `out` is in forward time again, its first pass at 0.
  constexpr bool run_reversed(plan const& planned, freedom f, std::vector<tick> const& released,
                              timeline& out) {
    plan turned = planned;
    for (std::vector<int>& order : turned) reverse(order);
    if (!walk(turned, f, released, out, true)) return false;
    for (std::vector<int>& order : out.orders) reverse(order);
    for (std::size_t x = 0; x < net_.what.size(); ++x)
      out.start[x] = out.makespan - out.start[x] - net_.length[x];
    return true;
  }

  constexpr tick end_of(timeline const& t, int number) const {
    auto const x = static_cast<std::size_t>(number);
    return t.start[x] + net_.length[x];
  }

  // `s` with the orders and starts of the timeline.
  constexpr schedule timed(schedule s, timeline const& t) const {
    for (std::size_t d = 0; d < p_; ++d) {
      s.order[d].clear();
      for (int x : t.orders[d])
        s.order[d].push_back(
            {net_.what[static_cast<std::size_t>(x)], t.start[static_cast<std::size_t>(x)]});
    }
    return s;
  }

  // Finds makespan and span from the orders and starts.
  constexpr void measure(timeline& out) const {
    out.makespan = out.span = 0;
    for (std::vector<int> const& order : out.orders) {
      if (order.empty()) continue;
      tick const end = end_of(out, order.back());
      tick const time = end - out.start[static_cast<std::size_t>(order.front())];
      out.makespan = end > out.makespan ? end : out.makespan;
      out.span = time > out.span ? time : out.span;
    }
  }

 private:
  static constexpr void reverse(std::vector<int>& order) {
    for (std::size_t i = 0, j = order.size(); i + 1 < j; ++i) std::swap(order[i], order[--j]);
  }

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

  // A device's plan falls into the forwards before its first backward, what follows its last forward,
  // and what is between; in reversed time the other way about.
  constexpr void mark_ends(std::vector<int> const& order) {
    std::size_t first = 0, last = order.size();
    auto const is_forward = [&](std::size_t i) {
      return net_.what[static_cast<std::size_t>(order[i])].kind == pass_kind::forward;
    };
    while (first < order.size() && is_forward(first) != reversed_) ++first;
    while (last > first && is_forward(last - 1) == reversed_) --last;
    for (std::size_t i = 0; i < order.size(); ++i)
      part_[static_cast<std::size_t>(order[i])] = i < first ? 0 : i < last ? 1 : 2;
  }

  // What more the device holds once pass x has begun, or less.
  constexpr std::int64_t change(std::size_t x) const {
    return reversed_ ? -net_.memory[x] : net_.memory[x];
  }

  constexpr bool walk(plan const& planned, freedom f, std::vector<tick> const& released, timeline& out,
                      bool reversed) {
    reversed_ = reversed;
    pass_network::lists const& needs = reversed ? net_.feeds : net_.needs;
    pass_network::lists const& feeds = reversed ? net_.needs : net_.feeds;
    std::size_t const n = net_.what.size();
    missing_.assign(n, 0);
    ready_.assign(n, 0);
    next_.assign(n, nobody);
    if (f.ends_only) part_.assign(n, 0);
    for (std::size_t x = 0; x < n; ++x) missing_[x] = static_cast<int>(needs.at[x + 1] - needs.at[x]);
    state_.assign(p_, {});
    out.orders.assign(p_, {});
    out.start.assign(n, 0);
    for (std::size_t d = 0; d < p_; ++d) {
      if (!released.empty()) state_[d].free = released[d];
      state_[d].limit = limit_[d];
      if (planned[d].empty()) continue;
      state_[d].head = planned[d][0];
      for (int x : planned[d]) state_[d].streams |= net_.stream[static_cast<std::size_t>(x)];
      for (std::size_t i = 1; i < planned[d].size(); ++i)
        next_[static_cast<std::size_t>(planned[d][i - 1])] = planned[d][i];
      if (f.ends_only) mark_ends(planned[d]);
    }

    for (std::size_t done = 0; done < n; ++done) {
      std::size_t device = p_;
      for (std::size_t d = 0; d < p_; ++d) {
        if (state_[d].stale) choose(state_[d], f);
        if (state_[d].pick != nobody
            && (device == p_ || state_[d].pick_start < state_[device].pick_start))
          device = d;
      }
      if (device == p_) return false;
      device_state& at = state_[device];
      auto const x = static_cast<std::size_t>(at.pick);
      (at.before_pick == nobody ? at.head : next_[static_cast<std::size_t>(at.before_pick)]) = next_[x];
      out.orders[device].push_back(at.pick);
      out.start[x] = at.pick_start;
      at.free = at.pick_start + net_.length[x];
      at.held += change(x);
      at.stale = true;
      for (std::size_t i = feeds.at[x]; i < feeds.at[x + 1]; ++i) {
        auto const y = static_cast<std::size_t>(feeds.all[i]);
        auto const other = static_cast<std::size_t>(net_.device[y]);
        tick const arrival = at.free + (other == device ? 0 : transfer_);
        ready_[y] = arrival > ready_[y] ? arrival : ready_[y];
        if (--missing_[y] == 0) state_[other].stale = true;
      }
    }
    measure(out);
    return true;
  }

  // Of the first `window` passes of the plan, the one that can start first without breaking the memory
  // limit, even if those that it overtakes ran before it, and without holding up too long one of them
  // that could start. Never one of the same stage and kind as one it overtakes: micro-batches stay first
  // in, first out.
  constexpr void choose(device_state& at, freedom f) {
    at.stale = false;
    at.pick = nobody;
    int before = nobody;
    std::int64_t held = at.held, most = at.held;  // where those that it overtakes ran before it
    std::uint64_t overtaken = 0;
    tick latest_end = max_tick;
    for (int x = at.head, seen = 0; x != nobody && seen < f.window;
         before = x, x = next_[static_cast<std::size_t>(x)], ++seen) {
      auto const i = static_cast<std::size_t>(x);
      if (f.ends_only && seen > 0
          && (part_[i] == 1 || part_[i] != part_[static_cast<std::size_t>(at.head)]))
        return;
      std::int64_t const own = change(i);
      if (missing_[i] == 0) {
        tick const start = ready_[i] > at.free ? ready_[i] : at.free;
        bool const fits = own <= 0 || most + own <= at.limit;
        if (fits && (overtaken & net_.stream[i]) == 0 && start + net_.length[i] <= latest_end
            && (at.pick == nobody || start < at.pick_start)) {
          at.pick = x;
          at.before_pick = before;
          at.pick_start = start;
          if (start == at.free) return;
        }
        tick const end = start + net_.length[i] * f.patience / 100;
        if (fits && end < latest_end) latest_end = end;
      }
      held += own;
      most = held > most ? held : most;
      overtaken |= net_.stream[i];
      if (overtaken == at.streams) return;
    }
  }

  pass_network net_;
  std::size_t p_;
  tick transfer_;
  std::vector<std::int64_t> limit_;

  bool reversed_ = false;
  std::vector<int> missing_;
  std::vector<tick> ready_;
  std::vector<int> next_;
  std::vector<int> part_;
  std::vector<device_state> state_;
};

}  // namespace ashlar
