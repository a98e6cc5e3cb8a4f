// The ways to do one thing, each with its time, memory and loss of quality.
#pragma once

#include <ashlar/core/cost.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/core/ticks.hpp>

#include <vector>

namespace ashlar {

// One way: one of several kernels, a recompute instead of a stash, weights of fewer bits. The penalty
// prices its loss of quality in ticks; 0 for ways that give the same result. Nothing is negative.
struct variant {
  tick time = 0;
  byte_count memory = 0;
  tick penalty = 0;

  tick cost() const { return saturating_sum(time, penalty); }

  friend constexpr bool operator==(variant const&, variant const&) = default;
};

// Runs both one after the other, each with memory of its own.
inline variant side_by_side(variant const& a, variant const& b) {
  return {saturating_sum(a.time, b.time), saturating_sum(a.memory, b.memory),
          saturating_sum(a.penalty, b.penalty)};
}

// Runs both one after the other in the same memory.
inline variant in_turn(variant const& a, variant const& b) {
  return {saturating_sum(a.time, b.time), a.memory < b.memory ? b.memory : a.memory,
          saturating_sum(a.penalty, b.penalty)};
}

// The Pareto front of memory and cost, by increasing memory and so by decreasing cost; equal entries
// appear once. `of` gives the variant of an entry. O(n log n).
template <class List, class Of>
List pareto_front(List all, Of of) {
  merge_sort(all, [&](auto const& a, auto const& b) {
    variant const &x = of(a), &y = of(b);
    return x.memory != y.memory ? x.memory < y.memory : x.cost() < y.cost();
  });
  List front;
  for (auto const& each : all)
    if (front.empty() || of(each).cost() < of(front.back()).cost()) front.push_back(each);
  return front;
}

// Index of the cheapest entry of a front within `limit` memory; -1 if there is none.
template <class List, class Of>
int cheapest_within(List const& front, byte_count limit, Of of) {
  int found = -1;
  for (auto const& each : front) {
    if (of(each).memory > limit) break;
    ++found;
  }
  return found;
}

}  // namespace ashlar
