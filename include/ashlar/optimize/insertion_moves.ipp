// Definitions of insertion_moves.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/optimize/insertion_moves.hpp>

namespace ashlar {

ASHLAR_INLINE void insertion_moves::reset() {
  held_.assign(graph_->orders().size(), {});
  for (std::size_t d = 0; d < held_.size(); ++d) {
    held_[d].assign(graph_->orders()[d].size() + 1, 0);
    hold(d, 0, graph_->orders()[d].size());
  }
}

ASHLAR_INLINE bool insertion_moves::allows(insertion_move const& m) {
  std::vector<int> const& order = graph_->orders()[m.device];
  int const x = order[m.is_later ? m.first : m.last];
  for (std::size_t i = m.first; i <= m.last; ++i)
    if (order[i] != x && nth(graph_->passes().stream, order[i]) == nth(graph_->passes().stream, x))
      return false;
  int const over = order[m.is_later ? m.last : m.first];
  // A pass on a path to another one ends no later than that one starts.
  if (m.is_later) {
    for (disjunctive_graph::arc const& a : graph_->feeds_of(x))
      if (a.other == over || graph_->head_of(over) >= graph_->end_of(a.other)) return false;
  } else {
    for (disjunctive_graph::arc const& a : graph_->needs_of(x))
      if (a.other == over || graph_->head_of(a.other) >= graph_->end_of(over)) return false;
  }
  moved_order(m);
  byte_count held = held_[m.device][m.first];
  for (int const y : moved_) {
    held += nth(graph_->passes().takes, y);
    if (held > limit_[m.device]) return false;
    held -= nth(graph_->passes().gives, y);
  }
  return true;
}

ASHLAR_INLINE tick insertion_moves::estimate(insertion_move const& m) {
  moved_order(m);
  std::vector<int> const& order = graph_->orders()[m.device];
  tick longest = 0;
  tick time = m.first > 0 ? graph_->end_of(order[m.first - 1]) : graph_->released(m.device);
  new_end_.clear();
  for (int const x : moved_) {
    time = max_of(time, graph_->input_time(x)) + graph_->length(x);
    new_end_.push_back(time);
  }
  time = m.last + 1 < order.size() ? graph_->rest_of(order[m.last + 1]) : -graph_->released(m.device);
  for (std::size_t i = moved_.size(); i-- > 0;) {
    time = max_of(time, graph_->output_time(moved_[i]));
    longest = max_of(longest, new_end_[i] + time);
    time += graph_->length(moved_[i]);
  }
  visits_ += 2 * static_cast<std::int64_t>(moved_.size());
  return longest;
}

ASHLAR_INLINE void insertion_moves::apply(insertion_move const& m) {
  moved_order(m);
  graph_->replace(m.device, m.first, moved_);
  hold(m.device, m.first, m.last + 1);
}

ASHLAR_INLINE void insertion_moves::moved_order(insertion_move const& m) {
  std::vector<int> const& order = graph_->orders()[m.device];
  moved_.clear();
  if (!m.is_later) moved_.push_back(order[m.last]);
  for (std::size_t i = m.first + (m.is_later ? 1 : 0); i < m.last + (m.is_later ? 1 : 0); ++i)
    moved_.push_back(order[i]);
  if (m.is_later) moved_.push_back(order[m.first]);
}

ASHLAR_INLINE void insertion_moves::hold(std::size_t device, std::size_t first, std::size_t end) {
  precedence_graph const& passes = graph_->passes();
  for (std::size_t i = first; i < end; ++i) {
    int const x = graph_->orders()[device][i];
    held_[device][i + 1] = held_[device][i] + nth(passes.takes, x) - nth(passes.gives, x);
  }
}

}  // namespace ashlar
