// From planned orders to better ones: each device takes, of the next few passes of its plan, the one
// that can start first. The same loop runs in forward and in reversed time.
//
// Sources: parallel schedule generation and forward-backward improvement ("justification") of
// resource-constrained project scheduling (Li and Willis, 1992; Valls et al., 2005).
#pragma once

#include <ashlar/dependencies.hpp>
#include <ashlar/schedule.hpp>

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

// The passes of a schedule and what they wait for, ready to be dispatched again and again. Memory counts
// in chunk activations: a forward takes one, the pass that ends its stay gives it back.
class dispatcher {
 public:
  using plan = std::vector<std::vector<int>>;  // by device, passes by number
  static constexpr int nobody = -1;

  // `limit`: of every device, in chunk activations. Throws violation: rule::every_pass_is_known for a
  // pass out of range, rule::overlapped_passes_are_a_pair for schedules with pairs: they have no
  // dispatcher.
  constexpr dispatcher(schedule const& s, int limit)
      : p_(s.order.size()), limit_(limit), transfer_(s.cost.transfer) {
    result_table<int> giver(s.stage_count(), s.micro_batch_count(), -1);
    own_.resize(p_);
    for (std::size_t d = 0; d < p_; ++d) {
      std::vector<int> stream_of(static_cast<std::size_t>(s.stage_count() * pass_kinds), -1);
      int streams = 0;
      for (std::size_t i = 0; i < s.order[d].size(); ++i) {
        timed_pass const& t = s.order[d][i];
        site const where{.device = static_cast<int>(d), .index = static_cast<int>(i), .what = t.what};
        if (t.what.stage < 0 || t.what.stage >= s.stage_count() || t.what.micro_batch < 0
            || t.what.micro_batch >= s.micro_batch_count() || t.what.kind == pass_kind::work)
          throw violation{{.broken = rule::every_pass_is_known, .first = where}};
        if (t.overlaps >= 0)
          throw violation{{.broken = rule::overlapped_passes_are_a_pair, .first = where}};
        auto const number = static_cast<int>(what_.size());
        giver.at(t.what.micro_batch, t.what.stage, result_of(t.what.kind)) = number;
        own_[d].push_back(number);
        what_.push_back(t.what);
        device_.push_back(static_cast<int>(d));
        length_.push_back(s.cost.of(t.what));
        int& stream = stream_of[static_cast<std::size_t>(t.what.stage * pass_kinds)
                                + static_cast<std::size_t>(t.what.kind)];
        if (stream < 0) stream = streams++;
        stream_.push_back(std::uint64_t{1} << static_cast<unsigned>(stream % 64));
      }
    }
    std::vector<std::vector<int>> needs(what_.size()), feeds(what_.size());
    for (std::size_t x = 0; x < what_.size(); ++x)
      for_each_input(s.graph, what_[x], [&](result r, int stage, int micro_batch) {
        int const y = giver.at(micro_batch, stage, r);
        if (y < 0) return;
        needs[x].push_back(y);
        feeds[static_cast<std::size_t>(y)].push_back(static_cast<int>(x));
      });
    needs_ = flat(needs);
    feeds_ = flat(feeds);
  }

  constexpr plan const& orders() const { return own_; }
  constexpr pass what(int number) const { return what_[static_cast<std::size_t>(number)]; }

  // The orders of another schedule of the same passes on the same devices. Throws violation
  // {rule::every_pass_is_known} where it has another pass.
  constexpr plan planned_like(schedule const& s) const {
    result_table<int> number(s.stage_count(), s.micro_batch_count(), nobody);
    for (std::size_t x = 0; x < what_.size(); ++x)
      number.at(what_[x].micro_batch, what_[x].stage, result_of(what_[x].kind)) = static_cast<int>(x);
    plan all(s.order.size());
    for (std::size_t d = 0; d < s.order.size(); ++d)
      for (timed_pass const& t : s.order[d]) {
        int const x = number.at(t.what.micro_batch, t.what.stage, result_of(t.what.kind));
        if (x == nobody || what(x) != t.what)
          throw violation{{.broken = rule::every_pass_is_known, .first = {.what = t.what}}};
        all[d].push_back(x);
      }
    return all;
  }

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
    for (std::size_t x = 0; x < what_.size(); ++x)
      out.start[x] = out.makespan - out.start[x] - length_[x];
    return true;
  }

  constexpr tick end_of(timeline const& t, int number) const {
    auto const x = static_cast<std::size_t>(number);
    return t.start[x] + length_[x];
  }

  // `s` with the orders and starts of the timeline.
  constexpr schedule timed(schedule s, timeline const& t) const {
    for (std::size_t d = 0; d < p_; ++d) {
      s.order[d].clear();
      for (int x : t.orders[d]) s.order[d].push_back({what(x), t.start[static_cast<std::size_t>(x)]});
    }
    return s;
  }

 private:
  // Lists of passes one behind the other: those of x are at[x] .. at[x + 1].
  struct lists {
    std::vector<std::size_t> at;
    std::vector<int> all;
  };
  static constexpr lists flat(std::vector<std::vector<int>> const& each) {
    lists f;
    for (std::vector<int> const& list : each) {
      f.at.push_back(f.all.size());
      f.all.insert(f.all.end(), list.begin(), list.end());
    }
    f.at.push_back(f.all.size());
    return f;
  }

  static constexpr void reverse(std::vector<int>& order) {
    for (std::size_t i = 0, j = order.size(); i + 1 < j; ++i) std::swap(order[i], order[--j]);
  }

  struct device_state {
    tick free = 0;
    int head = nobody;  // first of the plan that has not run
    int held = 0;
    int pick = nobody;  // what it would run next
    int before_pick = nobody;
    tick pick_start = 0;
    bool stale = true;
  };

  // A device's plan falls into the forwards before its first backward, what follows its last forward,
  // and what is between; in reversed time the other way about.
  constexpr void mark_ends(std::vector<int> const& order) {
    std::size_t first = 0, last = order.size();
    auto const is_forward = [&](std::size_t i) { return what(order[i]).kind == pass_kind::forward; };
    while (first < order.size() && is_forward(first) != reversed_) ++first;
    while (last > first && is_forward(last - 1) == reversed_) --last;
    for (std::size_t i = 0; i < order.size(); ++i)
      part_[static_cast<std::size_t>(order[i])] = i < first ? 0 : i < last ? 1 : 2;
  }

  constexpr bool takes(std::size_t x) const {
    return reversed_ ? gives_weight_gradient(what_[x].kind) : what_[x].kind == pass_kind::forward;
  }
  constexpr bool frees(std::size_t x) const {
    return reversed_ ? what_[x].kind == pass_kind::forward : gives_weight_gradient(what_[x].kind);
  }

  constexpr bool walk(plan const& planned, freedom f, std::vector<tick> const& released, timeline& out,
                      bool reversed) {
    reversed_ = reversed;
    lists const& needs = reversed ? feeds_ : needs_;
    lists const& feeds = reversed ? needs_ : feeds_;
    std::size_t const n = what_.size();
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
      if (planned[d].empty()) continue;
      state_[d].head = planned[d][0];
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
      at.free = at.pick_start + length_[x];
      at.held += (takes(x) ? 1 : 0) - (frees(x) ? 1 : 0);
      at.stale = true;
      for (std::size_t i = feeds.at[x]; i < feeds.at[x + 1]; ++i) {
        auto const y = static_cast<std::size_t>(feeds.all[i]);
        auto const other = static_cast<std::size_t>(device_[y]);
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
    int before = nobody, change = 0, most = 0;
    std::uint64_t overtaken = 0;
    tick latest_end = max_tick;
    for (int x = at.head, seen = 0; x != nobody && seen < f.window;
         before = x, x = next_[static_cast<std::size_t>(x)], ++seen) {
      auto const i = static_cast<std::size_t>(x);
      if (f.ends_only && seen > 0
          && (part_[i] == 1 || part_[i] != part_[static_cast<std::size_t>(at.head)]))
        return;
      int const own = (takes(i) ? 1 : 0) - (frees(i) ? 1 : 0);
      if (missing_[i] == 0) {
        tick const start = ready_[i] > at.free ? ready_[i] : at.free;
        bool const fits = !takes(i) || at.held + 1 + most <= limit_;
        if (fits && (overtaken & stream_[i]) == 0 && start + length_[i] <= latest_end
            && (at.pick == nobody || start < at.pick_start)) {
          at.pick = x;
          at.before_pick = before;
          at.pick_start = start;
          if (start == at.free) return;
        }
        tick const end = start + length_[i] * f.patience / 100;
        if (fits && end < latest_end) latest_end = end;
      }
      change += own;
      most = change > most ? change : most;
      overtaken |= stream_[i];
    }
  }

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

  std::size_t p_;
  int limit_;
  tick transfer_;
  plan own_;
  std::vector<pass> what_;
  std::vector<int> device_;
  std::vector<tick> length_;
  std::vector<std::uint64_t> stream_;  // a bit for each stage and kind of a device, as far as 64 go
  lists needs_, feeds_;

  bool reversed_ = false;
  std::vector<int> missing_;
  std::vector<tick> ready_;
  std::vector<int> next_;
  std::vector<int> part_;
  std::vector<device_state> state_;
};

}  // namespace ashlar
