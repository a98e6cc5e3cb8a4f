// The orders of all devices as arcs between passes, with the longest paths to and from each pass. They
// stay up to date when passes of a device change places.
//
// Roy and Sussmann, Les problemes d'ordonnancement avec contraintes disjonctives (1964).
#pragma once

#include <ashlar/core/function_ref.hpp>
#include <ashlar/core/list_view.hpp>
#include <ashlar/core/lists.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/optimize/list_scheduler.hpp>
#include <ashlar/optimize/precedence_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// The *head* of a pass is the earliest time at which it can start; its *tail* is the least time between
// its end and the end of everything. Devices start and end apart: device d is free from released[d] on,
// and an end there at time t counts as t - released[d].
class disjunctive_graph {
 public:
  using device_orders = precedence_graph::device_orders;
  static constexpr int nobody = precedence_graph::nobody;

  struct arc {
    int other;
    tick delay;
  };

  // `passes` must outlive the graph. O(passes).
  disjunctive_graph(precedence_graph const& passes, schedule const& s);

  // Begins with the orders of a solution; they have no cycle. O(passes).
  void set(list_scheduler::solution const& t, std::vector<tick> const& released);

  // Puts passes of one device in another order: from position `first` on, those that were there. The
  // orders must have no cycle then. O(passes whose head or tail changes, and those sorted between
  // these).
  void replace(std::size_t device, std::size_t first, std::vector<int> const& part);

  precedence_graph const& passes() const { return *passes_; }
  device_orders const& orders() const { return orders_; }
  // How many heads and tails it has computed.
  std::int64_t visits() const { return visits_; }

  tick head_of(int x) const { return nth(end_, x) - length(x); }
  // Both include the pass itself: when it ends, and how much time there is from its start.
  tick end_of(int x) const { return nth(end_, x); }
  tick rest_of(int x) const { return nth(rest_, x); }
  tick released(std::size_t device) const { return released_[device]; }

  // The longest time from a device's release to its end.
  tick longest() const;

  // The passes of a longest path, each of which starts as soon as the one before it allows. Where there
  // are several, `random(n)` chooses: 0 .. n - 1.
  void critical_path(function_ref<std::size_t(std::size_t)> random, std::vector<int>& path) const;

  std::size_t device_of(int x) const { return static_cast<std::size_t>(nth(passes_->device, x)); }
  std::size_t position_of(int x) const { return nth(position_, x); }
  // Its place among all passes, each behind those that it needs and that its device runs before it.
  std::size_t rank_of(int x) const { return nth(rank_, x); }
  tick length(int x) const { return nth(passes_->length, x); }
  list_view<arc> needs_of(int x) const { return nth(needs_, x); }
  list_view<arc> feeds_of(int x) const { return nth(feeds_, x); }

  // The time when all inputs are there; the time that must follow for the readers of the output.
  tick input_time(int x) const;
  tick output_time(int x) const;

 private:
  static constexpr std::size_t word = 64, unranked = static_cast<std::size_t>(-1);

  static lists<arc> arcs_of(precedence_graph const& passes, lists<int> const& others, costs const& cost,
                            bool come_before);

  tick time_of(std::size_t d) const {
    return orders_[d].empty() ? 0 : nth(end_, orders_[d].back()) - released_[d];
  }

  tick new_end(int x) const;
  tick new_rest(int x) const;

  // Positions first .. end - 1 of an order have changed.
  void place(std::size_t device, std::size_t first, std::size_t end);
  void link(int before, int x) {
    nth(before_, x) = before;
    if (before != nobody) nth(after_, before) = x;
  }

  // Sorts the passes of ranks low .. high - 1 topologically, by depth-first search.
  void sort(std::size_t low, std::size_t high);

  void mark(int x) {
    std::size_t const rank = nth(rank_, x);
    changed_[rank / word] |= std::uint64_t{1} << (rank % word);
  }

  // Updates those that are marked, and all that follow from them, in topological order.
  void update_ends();
  void update_rests();

  precedence_graph const* passes_;
  lists<arc> needs_, feeds_;  // of each pass
  device_orders orders_;
  std::vector<tick> released_;                // by device
  std::vector<std::size_t> position_, rank_;  // of each pass in its device's order and in sorted_
  std::vector<int> sorted_;                   // topologically
  std::vector<int> before_, after_;           // on its device
  std::vector<tick> end_, rest_;              // head or tail, with the pass itself
  std::vector<std::uint64_t> changed_;        // by rank, a bit each
  std::vector<int> part_, open_;              // used by sort()
  std::int64_t visits_ = 0;
};

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/optimize/disjunctive_graph.ipp>
#endif
