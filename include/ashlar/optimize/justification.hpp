// Keeps the best of many dispatched plans.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/optimize/list_scheduler.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// What a search makes small: the span, with the makespan to break ties; the makespan, with the span to
// break ties; `both`: makespan + 3 span, of schedules whose passes start as soon as they can; `program`:
// the makespan, and of what comes near to the least the simulated makespan of the lowered program.
enum class objective : unsigned char { span, makespan, both, program };

// What a search may spend and what it looks for.
struct effort {
  std::int64_t passes = 0;  // to dispatch in all; the same number gives the same result everywhere. A
                            // million take a tenth of a second
  std::uint64_t seed = 1;
  objective aim = objective::both;
  tick goal = 0;  // no better is possible: the search ends there

  friend constexpr bool operator==(effort const&, effort const&) = default;
};

struct score {
  tick first = max_tick, then = max_tick;

  friend constexpr bool operator==(score const&, score const&) = default;  // for nvcc, by name
  friend constexpr auto operator<=>(score const&, score const&) = default;
};

// How a plan is justified: dispatched forward, then in reversed time and forward again, a few rounds.
struct style {
  freedom at_first, backward, forward;
  // In reversed time, devices end as far apart as they began, which is best for the span.
  bool skewed = false;
  int rounds = 1;
};

// Never tired.
struct unwatched {
  constexpr bool operator()(dispatcher::timeline const&, std::int64_t) { return true; }
};

// `Watch`: called with the best timeline and the passes dispatched so far; false ends the search.
template <class Watch = unwatched>
class improver {
 public:
  // Searches orders for the passes of `s` within `limit`. Throws as the dispatcher does.
  constexpr improver(schedule const& s, memory_limit const& limit, effort e, Watch watch = {})
      : s_(s), dispatcher_(s, limit), effort_(e), random_(e.seed), watch_(watch) {
    for (auto const& order : s.order) size_ += static_cast<std::int64_t>(order.size());
  }

  constexpr schedule const& of() const { return s_; }
  constexpr pass_network const& passes() const { return dispatcher_.passes(); }
  constexpr std::int64_t size() const { return size_; }
  constexpr std::int64_t spent() const { return spent_; }
  constexpr bool found() const { return found_; }
  constexpr dispatcher::timeline const& best() const { return best_; }
  constexpr schedule result() const { return dispatcher_.timed(s_, best_); }

  // Whether more than `share` percent of the effort is spent, the goal reached, or the watch tired.
  constexpr bool is_over(std::int64_t share = 100) {
    return spent_ >= effort_.passes * share / 100 || (found_ && judge(best_).first <= effort_.goal)
           || !watch_(best_, spent_);
  }
  constexpr void spend(std::int64_t passes) { spent_ += passes; }

  constexpr score judge(dispatcher::timeline const& t) const {
    switch (effort_.aim) {
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

  // What had to wait for memory or inputs closes up with what follows. Returns the least score on the
  // way, which reached() has; no score where the plan gets stuck at once. A plan whose first dispatch is
  // above `hopeless` is not taken further.
  constexpr score justify(dispatcher::plan const& planned, style const& how, tick hopeless = max_tick) {
    score least;
    if (!run(planned, how.at_first, least) || least.first > hopeless) return least;
    for (int round = 0; round < how.rounds; ++round) {
      score const before = least;
      spent_ += size_;
      // Named: g++ 12 frees a temporary of ?: twice in constant expressions.
      std::vector<tick> released;
      if (how.skewed) released = skew(now_);
      if (!dispatcher_.run_reversed(now_.orders, how.backward, released, reversed_)) break;
      if (effort_.aim != objective::both) keep(reversed_, least);
      if (!run(reversed_.orders, how.forward, least) || (round > 0 && least == before)) break;
    }
    return least;
  }
  constexpr dispatcher::timeline const& reached() const { return reached_; }

  // A schedule of the same passes as it is, where that is better.
  constexpr void consider(schedule const& s) {
    dispatcher::timeline t{.orders = passes().planned_like(s),
                           .start = std::vector<tick>(passes().what.size(), 0)};
    tick first = max_tick;
    for (auto const& order : s.order)
      if (!order.empty()) first = min_of(first, order[0].start);
    for (std::size_t d = 0; d < s.order.size(); ++d)
      for (std::size_t i = 0; i < s.order[d].size(); ++i)
        t.start[static_cast<std::size_t>(t.orders[d][i])] = s.order[d][i].start - first;
    dispatcher_.measure(t);
    score ignored;
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
  constexpr bool run(dispatcher::plan const& planned, freedom f, score& least) {
    spent_ += size_;
    if (!dispatcher_.run(planned, f, {}, now_)) return false;
    keep(now_, least);
    return true;
  }

  constexpr void keep(dispatcher::timeline const& t, score& least) {
    score const s = judge(t);
    if (s < least) {
      least = s;
      reached_ = t;
    }
    if (!found_ || s < judge(best_)) best_ = t;
    found_ = true;
  }

  // By how much earlier than the last each device starts.
  static constexpr std::vector<tick> skew(dispatcher::timeline const& t) {
    std::vector<tick> released;
    tick latest = 0;
    for (std::vector<int> const& order : t.orders) {
      released.push_back(order.empty() ? 0 : t.start[static_cast<std::size_t>(order[0])]);
      latest = max_of(latest, released.back());
    }
    for (tick& r : released) r = latest - r;
    return released;
  }

  schedule s_;
  dispatcher dispatcher_;
  effort effort_;
  std::int64_t spent_ = 0, size_ = 0;
  std::uint64_t random_;
  Watch watch_;
  dispatcher::timeline now_, reversed_, reached_, best_;
  bool found_ = false;
};

// Looks far or near, patiently or not.
template <class Search>
constexpr freedom any_freedom(Search& search) {
  constexpr std::array<int, 11> windows{1, 2, 3, 4, 6, 8, 12, 16, 24, 48, 96};
  constexpr std::array<int, 7> patience{0, 10, 20, 30, 50, 70, 100};
  return {windows[search.random(windows.size())], patience[search.random(patience.size())]};
}

template <class Search>
constexpr style any_style(Search& search, int rounds) {
  freedom const a = any_freedom(search), b = any_freedom(search), c = any_freedom(search);
  return {a, b, c, search.random(std::size_t{2}) == 0, rounds};
}

}  // namespace ashlar
