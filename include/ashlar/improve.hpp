// Keeps the best of many dispatched plans.
#pragma once

#include <ashlar/dispatch.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ashlar {

// What a search may spend and what it looks for.
struct effort {
  std::int64_t passes = 0;  // to dispatch in all; the same number gives the same result everywhere. A
                            // million take a tenth of a second
  std::uint64_t seed = 1;
  tick span_weight = 3;  // a search minimises makespan + span_weight * span

  friend constexpr bool operator==(effort const&, effort const&) = default;
};

class improver {
 public:
  // Searches orders for the passes of `s` with at most `limit` chunk activations on a device. Throws as
  // the dispatcher does.
  constexpr improver(schedule const& s, int limit, effort e)
      : s_(s), dispatcher_(s, limit), effort_(e), left_(e.passes), random_(e.seed) {
    for (auto const& order : s.order) size_ += static_cast<std::int64_t>(order.size());
  }

  constexpr dispatcher const& passes() const { return dispatcher_; }
  constexpr std::int64_t left() const { return left_; }
  constexpr bool found() const { return found_; }
  constexpr schedule result() const { return dispatcher_.timed(s_, best_); }

  // Forward, reverse, forward: what had to wait for memory or inputs closes up with what follows.
  // `skewed`: in reversed time, devices end as far apart as they began, which is best for the span.
  // Returns the least score on the way; max_tick where the plan gets stuck.
  constexpr tick justify(dispatcher::plan const& planned, freedom f, bool skewed) {
    dispatcher::timeline t, reversed;
    tick least = max_tick;
    if (!run(planned, f, t, least)) return max_tick;
    left_ -= size_;
    std::vector<tick> released;  // no conditional: g++ 12 destroys its operands twice while compiling
    if (skewed) released = skew(t);
    if (!dispatcher_.run_reversed(t.orders, f, released, reversed)) return least;
    run(reversed.orders, freedom{}, t, least);
    if (f.window > 1) run(reversed.orders, f, t, least);
    return least;
  }

  // Moves one or two passes of the best orders by a few places and keeps what is no worse.
  constexpr void polish() {
    constexpr std::size_t reach = 8;
    dispatcher::plan plan = best_.orders;
    for (std::size_t moves = 1 + random(2); moves > 0; --moves) {
      std::vector<int>& order = plan[random(plan.size())];
      if (order.empty()) continue;
      std::size_t from = random(order.size()), to = random(order.size());
      to = to > from + reach ? from + reach : from > to + reach ? from - reach : to;
      for (; from < to; ++from) std::swap(order[from], order[from + 1]);
      for (; from > to; --from) std::swap(order[from], order[from - 1]);
    }
    dispatcher::timeline t;
    left_ -= size_;
    if (dispatcher_.run(plan, freedom{}, {}, t) && score(t) <= score(best_)) best_ = std::move(t);
  }

  // 0 .. below - 1, the same on every machine.
  constexpr std::size_t random(std::size_t below) {
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>((random_ >> 33U) % below);
  }

 private:
  constexpr tick score(dispatcher::timeline const& t) const {
    return t.makespan + effort_.span_weight * t.span;
  }

  constexpr bool run(dispatcher::plan const& planned, freedom f, dispatcher::timeline& t, tick& least) {
    left_ -= size_;
    if (!dispatcher_.run(planned, f, {}, t)) return false;
    tick const reached = score(t);
    least = reached < least ? reached : least;
    if (!found_ || reached < score(best_)) best_ = t;
    found_ = true;
    return true;
  }

  // By how much earlier than the last each device starts.
  static constexpr std::vector<tick> skew(dispatcher::timeline const& t) {
    std::vector<tick> released;
    tick latest = 0;
    for (std::vector<int> const& order : t.orders) {
      released.push_back(order.empty() ? 0 : t.start[static_cast<std::size_t>(order[0])]);
      latest = released.back() > latest ? released.back() : latest;
    }
    for (tick& r : released) r = latest - r;
    return released;
  }

  schedule s_;
  dispatcher dispatcher_;
  effort effort_;
  std::int64_t left_, size_ = 0;
  std::uint64_t random_;
  dispatcher::timeline best_;
  bool found_ = false;
};

}  // namespace ashlar
