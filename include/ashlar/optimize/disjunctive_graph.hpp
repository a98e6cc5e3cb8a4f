// The orders of all devices as arcs between passes, with the longest paths to and from each pass. They
// stay up to date when passes of a device change places.
//
// Roy and Sussmann, Les problemes d'ordonnancement avec contraintes disjonctives (1964).
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/list_view.hpp>
#include <ashlar/core/lists.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/optimize/list_scheduler.hpp>
#include <ashlar/optimize/precedence_graph.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// The *head* of a pass is the earliest time at which it can start; its *tail* is the least time between
// its end and the end of everything. Devices start and end apart: device d is free from released[d] on,
// and what ends there at time t counts as t - released[d].
class disjunctive_graph {
 public:
  using plan = precedence_graph::plan;
  static constexpr int nobody = precedence_graph::nobody;

  struct arc {
    int other;
    tick delay;
  };

  // `passes` must outlive the graph. O(passes).
  constexpr disjunctive_graph(precedence_graph const& passes, schedule const& s)
      : passes_(&passes),
        needs_(arcs_of(passes, passes.needs, s.cost)),
        feeds_(arcs_of(passes, passes.feeds, s.cost)),
        position_(passes.what.size(), 0),
        rank_(passes.what.size(), 0),
        sorted_(passes.what.size(), 0),
        before_(passes.what.size(), nobody),
        after_(passes.what.size(), nobody),
        end_(passes.what.size(), 0),
        rest_(passes.what.size(), 0),
        changed_((passes.what.size() + word - 1) / word, 0) {}

  // Begins with the orders of a timeline; they have no cycle. O(passes).
  constexpr void set(list_scheduler::timeline const& t, std::vector<tick> const& released) {
    orders_ = t.orders;
    released_ = released;
    for (std::size_t d = 0; d < orders_.size(); ++d) place(d, 0, orders_[d].size());
    for (std::size_t x = 0; x < sorted_.size(); ++x) sorted_[x] = static_cast<int>(x);
    sort(0, sorted_.size());
    for (int const x : sorted_) nth(end_, x) = new_end(x);
    for (std::size_t i = sorted_.size(); i-- > 0;) nth(rest_, sorted_[i]) = new_rest(sorted_[i]);
    visits_ += 2 * static_cast<std::int64_t>(sorted_.size());
  }

  // Puts passes of one device in another order: from position `first` on, those that were there. The
  // orders must have no cycle then. O(passes whose head or tail changes, and those sorted between
  // these).
  constexpr void replace(std::size_t device, std::size_t first, std::vector<int> const& part) {
    std::vector<int>& order = orders_[device];
    std::size_t low = sorted_.size(), high = 0, end = first;
    for (int const x : part) {
      order[end++] = x;
      low = min_of(low, nth(rank_, x));
      high = max_of(high, nth(rank_, x));
    }
    place(device, first, end);
    sort(low, high + 1);
    for (int const x : part) mark(x);
    if (end < order.size()) mark(order[end]);
    update_ends();
    for (int const x : part) mark(x);
    if (first > 0) mark(order[first - 1]);
    update_rests();
  }

  constexpr precedence_graph const& passes() const { return *passes_; }
  constexpr plan const& orders() const { return orders_; }
  // How many heads and tails it has computed.
  constexpr std::int64_t visits() const { return visits_; }

  constexpr tick head_of(int x) const { return nth(end_, x) - length(x); }
  // With the pass itself: when it ends, and how much time there is from its start.
  constexpr tick end_of(int x) const { return nth(end_, x); }
  constexpr tick rest_of(int x) const { return nth(rest_, x); }
  constexpr tick released(std::size_t device) const { return released_[device]; }

  // The longest time from a device's release to its end.
  constexpr tick longest() const {
    tick most = 0;
    for (std::size_t d = 0; d < orders_.size(); ++d) most = max_of(most, time_of(d));
    return most;
  }

  // The passes of a longest path, each of which starts as soon as the one before it allows. Where there
  // are several, `random(n)` chooses: 0 .. n - 1.
  template <class Random>
  constexpr void critical_path(Random random, std::vector<int>& path) const {
    path.clear();
    int x = nobody;
    std::size_t choices = 0;
    auto const offer = [&](int y) {
      if (random(++choices) == 0) x = y;
    };
    tick const most = longest();
    for (std::size_t d = 0; d < orders_.size(); ++d)
      if (!orders_[d].empty() && time_of(d) == most) offer(orders_[d].back());
    while (x != nobody) {
      path.push_back(x);
      int const self = x, before = nth(before_, x);
      tick const head = head_of(x);
      x = nobody;
      choices = 0;
      if (before != nobody && nth(end_, before) == head) offer(before);
      for (arc const& a : nth(needs_, self))
        if (nth(end_, a.other) + a.delay == head) offer(a.other);
    }
    reverse(path);
  }

  constexpr std::size_t device_of(int x) const {
    return static_cast<std::size_t>(nth(passes_->device, x));
  }
  constexpr std::size_t position_of(int x) const { return nth(position_, x); }
  constexpr tick length(int x) const { return nth(passes_->length, x); }
  constexpr list_view<arc> needs_of(int x) const { return nth(needs_, x); }
  constexpr list_view<arc> feeds_of(int x) const { return nth(feeds_, x); }

  // When all inputs are there; how much time must follow for what needs the output.
  constexpr tick input_time(int x) const {
    tick time = 0;
    for (arc const& a : nth(needs_, x)) time = max_of(time, nth(end_, a.other) + a.delay);
    return time;
  }
  constexpr tick output_time(int x) const {
    tick time = -max_tick;
    for (arc const& a : nth(feeds_, x)) time = max_of(time, nth(rest_, a.other) + a.delay);
    return time;
  }

 private:
  static constexpr std::size_t word = 64, unranked = static_cast<std::size_t>(-1);

  static constexpr lists<arc> arcs_of(precedence_graph const& passes, lists<int> const& others,
                                      costs const& cost) {
    return {others.size(), [&](auto add) {
              for (std::size_t x = 0; x < others.size(); ++x)
                for (int const other : others[x])
                  add(x, {other, cost.transfer(passes.device[x], nth(passes.device, other))});
            }};
  }

  constexpr tick time_of(std::size_t d) const {
    return orders_[d].empty() ? 0 : nth(end_, orders_[d].back()) - released_[d];
  }

  constexpr tick new_end(int x) const {
    int const before = nth(before_, x);
    tick const free = before == nobody ? released_[device_of(x)] : nth(end_, before);
    return max_of(free, input_time(x)) + length(x);
  }
  constexpr tick new_rest(int x) const {
    int const after = nth(after_, x);
    tick const more = after == nobody ? -released_[device_of(x)] : nth(rest_, after);
    return max_of(more, output_time(x)) + length(x);
  }

  // Positions first .. end - 1 of an order have changed.
  constexpr void place(std::size_t device, std::size_t first, std::size_t end) {
    std::vector<int> const& order = orders_[device];
    int before = first == 0 ? nobody : order[first - 1];
    for (std::size_t i = first; i < end; ++i) {
      nth(position_, order[i]) = i;
      link(before, order[i]);
      before = order[i];
    }
    if (end < order.size())
      link(before, order[end]);
    else if (before != nobody)
      nth(after_, before) = nobody;
  }
  constexpr void link(int before, int x) {
    nth(before_, x) = before;
    if (before != nobody) nth(after_, before) = x;
  }

  // Sorts the passes of ranks low .. high - 1 topologically, by depth-first search.
  constexpr void sort(std::size_t low, std::size_t high) {
    part_.assign(sorted_.begin() + static_cast<std::ptrdiff_t>(low),
                 sorted_.begin() + static_cast<std::ptrdiff_t>(high));
    for (int const x : part_) nth(rank_, x) = unranked;
    for (int const root : part_) {
      open_.push_back(root);
      while (!open_.empty()) {
        int const x = open_.back();
        bool is_last = true;  // of those on which it depends
        auto const need = [&](int y) {
          if (nth(rank_, y) != unranked) return;
          open_.push_back(y);
          is_last = false;
        };
        if (nth(rank_, x) == unranked) {
          if (int const y = nth(before_, x); y != nobody) need(y);
          for (arc const& a : nth(needs_, x)) need(a.other);
        }
        if (!is_last) continue;
        open_.pop_back();
        if (nth(rank_, x) != unranked) continue;
        nth(rank_, x) = low;
        sorted_[low++] = x;
      }
    }
  }

  constexpr void mark(int x) {
    std::size_t const rank = nth(rank_, x);
    changed_[rank / word] |= std::uint64_t{1} << (rank % word);
  }

  // Those that are marked, and what follows from them, in topological order.
  constexpr void update_ends() {
    for (std::size_t w = 0; w < changed_.size(); ++w)
      while (changed_[w] != 0) {
        auto const bit = static_cast<std::size_t>(std::countr_zero(changed_[w]));
        changed_[w] &= changed_[w] - 1;
        int const x = sorted_[w * word + bit];
        tick const end = new_end(x);
        ++visits_;
        if (end == nth(end_, x)) continue;
        nth(end_, x) = end;
        if (int const y = nth(after_, x); y != nobody) mark(y);
        for (arc const& a : nth(feeds_, x)) mark(a.other);
      }
  }
  constexpr void update_rests() {
    for (std::size_t w = changed_.size(); w-- > 0;)
      while (changed_[w] != 0) {
        std::size_t const bit = word - 1 - static_cast<std::size_t>(std::countl_zero(changed_[w]));
        changed_[w] ^= std::uint64_t{1} << bit;
        int const x = sorted_[w * word + bit];
        tick const rest = new_rest(x);
        ++visits_;
        if (rest == nth(rest_, x)) continue;
        nth(rest_, x) = rest;
        if (int const y = nth(before_, x); y != nobody) mark(y);
        for (arc const& a : nth(needs_, x)) mark(a.other);
      }
  }

  precedence_graph const* passes_;
  lists<arc> needs_, feeds_;  // of each pass
  plan orders_;
  std::vector<tick> released_;                // by device
  std::vector<std::size_t> position_, rank_;  // of each pass in its device's order and in sorted_
  std::vector<int> sorted_;                   // topologically
  std::vector<int> before_, after_;           // on its device
  std::vector<tick> end_, rest_;              // head or tail, with the pass itself
  std::vector<std::uint64_t> changed_;        // by rank, a bit each
  std::vector<int> part_, open_;              // what sort() works with
  std::int64_t visits_ = 0;
};

}  // namespace ashlar
