// Definitions of disjunctive_graph.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/optimize/disjunctive_graph.hpp>

#include <bit>

namespace ashlar {

ASHLAR_INLINE disjunctive_graph::disjunctive_graph(precedence_graph const& passes, schedule const& s)
    : passes_(&passes),
      needs_(arcs_of(passes, passes.needs, s.cost, true)),
      feeds_(arcs_of(passes, passes.feeds, s.cost, false)),
      position_(passes.what.size(), 0),
      rank_(passes.what.size(), 0),
      sorted_(passes.what.size(), 0),
      before_(passes.what.size(), nobody),
      after_(passes.what.size(), nobody),
      end_(passes.what.size(), 0),
      rest_(passes.what.size(), 0),
      changed_((passes.what.size() + word - 1) / word, 0) {}

ASHLAR_INLINE void disjunctive_graph::set(list_scheduler::solution const& t,
                                          std::vector<tick> const& released) {
  orders_ = t.orders;
  released_ = released;
  for (std::size_t d = 0; d < orders_.size(); ++d) place(d, 0, orders_[d].size());
  for (std::size_t x = 0; x < sorted_.size(); ++x) sorted_[x] = static_cast<int>(x);
  sort(0, sorted_.size());
  for (int const x : sorted_) nth(end_, x) = new_end(x);
  for (std::size_t i = sorted_.size(); i-- > 0;) nth(rest_, sorted_[i]) = new_rest(sorted_[i]);
  visits_ += 2 * static_cast<std::int64_t>(sorted_.size());
}

ASHLAR_INLINE void disjunctive_graph::replace(std::size_t device, std::size_t first,
                                              std::vector<int> const& part) {
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

ASHLAR_INLINE tick disjunctive_graph::longest() const {
  tick most = 0;
  for (std::size_t d = 0; d < orders_.size(); ++d) most = max_of(most, time_of(d));
  return most;
}

ASHLAR_INLINE void disjunctive_graph::critical_path(function_ref<std::size_t(std::size_t)> random,
                                                    std::vector<int>& path) const {
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

ASHLAR_INLINE tick disjunctive_graph::input_time(int x) const {
  tick time = 0;
  for (arc const& a : nth(needs_, x)) time = max_of(time, nth(end_, a.other) + a.delay);
  return time;
}

ASHLAR_INLINE tick disjunctive_graph::output_time(int x) const {
  tick time = -max_tick;
  for (arc const& a : nth(feeds_, x)) time = max_of(time, nth(rest_, a.other) + a.delay);
  return time;
}

ASHLAR_INLINE lists<disjunctive_graph::arc> disjunctive_graph::arcs_of(precedence_graph const& passes,
                                                                       lists<int> const& others,
                                                                       costs const& cost,
                                                                       bool come_before) {
  return {others.size(), [&](auto add) {
            for (std::size_t x = 0; x < others.size(); ++x)
              for (int const other : others[x]) {
                int const here = passes.device[x], there = nth(passes.device, other);
                add(x, {other, come_before ? cost.transfer(there, here) : cost.transfer(here, there)});
              }
          }};
}

ASHLAR_INLINE tick disjunctive_graph::new_end(int x) const {
  int const before = nth(before_, x);
  tick const free = before == nobody ? released_[device_of(x)] : nth(end_, before);
  return max_of(free, input_time(x)) + length(x);
}

ASHLAR_INLINE tick disjunctive_graph::new_rest(int x) const {
  int const after = nth(after_, x);
  tick const more = after == nobody ? -released_[device_of(x)] : nth(rest_, after);
  return max_of(more, output_time(x)) + length(x);
}

ASHLAR_INLINE void disjunctive_graph::place(std::size_t device, std::size_t first, std::size_t end) {
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

ASHLAR_INLINE void disjunctive_graph::sort(std::size_t low, std::size_t high) {
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

ASHLAR_INLINE void disjunctive_graph::update_ends() {
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

ASHLAR_INLINE void disjunctive_graph::update_rests() {
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

}  // namespace ashlar
