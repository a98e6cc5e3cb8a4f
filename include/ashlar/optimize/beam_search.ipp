// Definitions of beam_search.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/core/splitmix.hpp>
#include <ashlar/optimize/beam_search.hpp>

namespace ashlar {

namespace beam_search_detail {

// Ends of passes copied in the time of dispatching one pass.
inline constexpr std::int64_t copies_of_dispatch = 32;

}  // namespace beam_search_detail

ASHLAR_INLINE std::size_t beam_width(std::int64_t passes, schedule const& s) {
  auto const size = static_cast<std::int64_t>(pass_count(s));
  std::int64_t const ways_on = 2 * std::int64_t{s.device_count()};
  std::int64_t const each = ways_on + size / beam_search_detail::copies_of_dispatch;
  return static_cast<std::size_t>(passes / max_of<std::int64_t>(size * each, 1));
}

ASHLAR_INLINE beam_search::beam_search(justifier& search, memory_limit const& limit)
    : search_(&search), graph_(search.passes(), search.of()) {
  for (int d = 0; d < search.of().device_count(); ++d)
    limit_.push_back(limit.free_on(search.of().where, d));
}

ASHLAR_INLINE void beam_search::run(list_scheduler::solution const& from, std::size_t width) {
  begin(from);
  std::int64_t const size = search_->size();
  for (std::int64_t done = 0; done < size && !beam_.empty(); ++done) {
    successors_.clear();
    for (std::size_t i = 0; i < beam_.size(); ++i)
      for (std::size_t k = 0; k < streams_.size(); ++k)
        if (beam_[i].done[k] < streams_[k].size()) add_successor(i, streams_[k][beam_[i].done[k]]);
    search_->spend(static_cast<std::int64_t>(successors_.size()));
    drop_dominated();
    if (successors_.size() > width) {
      merge_sort(successors_, [](successor const& a, successor const& b) {
        return a.least != b.least ? a.least < b.least : a.ends < b.ends;
      });
      successors_.erase(successors_.begin() + static_cast<std::ptrdiff_t>(width), successors_.end());
    }
    next_.clear();
    for (successor const& s : successors_) next_.push_back(after(s));
    beam_.swap(next_);
    search_->spend(static_cast<std::int64_t>(beam_.size())
                   * (size / beam_search_detail::copies_of_dispatch));
    if (search_->is_over()) return;
  }
  if (beam_.empty()) return;
  partial_schedule const* best = &beam_[0];
  for (partial_schedule const& t : beam_)
    if (t.least < best->least) best = &t;
  justification_options how;
  how.skewed = true;
  how.rounds = 2;
  search_->justify(orders_of(best->last), how);
}

ASHLAR_INLINE void beam_search::begin(list_scheduler::solution const& from) {
  precedence_graph const& passes = search_->passes();
  std::size_t const p = from.orders.size(), kinds = static_cast<std::size_t>(pass_kinds);
  bool const by_device = search_->aim() != objective::makespan && search_->aim() != objective::program;
  std::vector<std::size_t> number(static_cast<std::size_t>(search_->of().stage_count()) * kinds,
                                  nothing);
  stream_.assign(passes.what.size(), 0);
  place_.assign(passes.what.size(), 0);
  streams_.clear();
  released_.assign(p, 0);
  partial_schedule first;
  for (std::size_t d = 0; d < p; ++d) {
    if (by_device && !from.orders[d].empty()) released_[d] = nth(from.start, from.orders[d].front());
    tick work = 0;
    for (int const x : from.orders[d]) {
      pass const what = passes.what[static_cast<std::size_t>(x)];
      std::size_t& own =
          number[static_cast<std::size_t>(what.stage) * kinds + static_cast<std::size_t>(what.kind)];
      if (own == nothing) {
        own = streams_.size();
        streams_.emplace_back();
      }
      nth(stream_, x) = own;
      nth(place_, x) = streams_[own].size();
      streams_[own].push_back(x);
      work += nth(passes.length, x);
    }
    first.left.push_back(work);
    first.free.push_back(released_[d]);
  }
  first.done.assign(streams_.size(), 0);
  first.held.assign(p, 0);
  first.end.assign(passes.what.size(), 0);
  find_rests(from);
  steps_.clear();
  beam_.assign(1, first);
}

ASHLAR_INLINE void beam_search::find_rests(list_scheduler::solution const& from) {
  graph_.set(from, released_);
  rest_.assign(stream_.size(), 0);
  std::vector<int> last_first;
  for (std::size_t x = 0; x < rest_.size(); ++x) last_first.push_back(static_cast<int>(x));
  merge_sort(last_first, [&](int a, int b) { return graph_.rank_of(a) > graph_.rank_of(b); });
  for (int const x : last_first) {
    tick rest = -released_[graph_.device_of(x)];
    for (disjunctive_graph::arc const& a : graph_.feeds_of(x))
      rest = max_of(rest, a.delay + nth(rest_, a.other));
    std::vector<int> const& own = streams_[nth(stream_, x)];
    if (nth(place_, x) + 1 < own.size()) rest = max_of(rest, nth(rest_, own[nth(place_, x) + 1]));
    nth(rest_, x) = rest + graph_.length(x);
  }
}

ASHLAR_INLINE tick beam_search::input_time(partial_schedule const& t, int x) const {
  tick time = 0;
  for (disjunctive_graph::arc const& a : graph_.needs_of(x)) {
    if (!is_done(t, a.other)) return max_tick;
    time = max_of(time, nth(t.end, a.other) + a.delay);
  }
  return time;
}

ASHLAR_INLINE void beam_search::add_successor(std::size_t of, int x) {
  partial_schedule const& t = beam_[of];
  std::size_t const device = graph_.device_of(x);
  byte_count const takes = nth(search_->passes().takes, x);
  if (takes > 0 && t.held[device] + takes > limit_[device]) return;
  tick const ready = input_time(t, x);
  if (ready == max_tick) return;
  tick const start = max_of(ready, t.free[device]);
  if (start < t.now) return;  // passes come by start: another partial schedule has it where it belongs
  std::uint64_t const own = mixed(splitmix_step + static_cast<std::uint64_t>(x));
  successor s{of, x, start, max_of(t.least, start + nth(rest_, x)), 0, t.hash + own};
  for (std::size_t d = 0; d < t.free.size(); ++d) {
    tick const end = d == device ? start + t.left[d] : max_of(t.free[d], start) + t.left[d];
    if (d != device && t.left[d] == 0) continue;
    s.least = max_of(s.least, end - released_[d]);
    s.ends += end;
  }
  successors_.push_back(s);
}

ASHLAR_INLINE void beam_search::find_open(successor const& s) {
  auto const done = [&](int x) { return x == s.what || is_done(beam_[s.of], x); };
  open_.clear();
  for (std::size_t i = 0; i < rest_.size(); ++i) {
    int const x = static_cast<int>(i);
    bool needed = false;
    for (disjunctive_graph::arc const& a : graph_.feeds_of(x)) needed = needed || !done(a.other);
    if (needed && done(x)) open_.push_back(x);
  }
}

ASHLAR_INLINE bool beam_search::dominates(successor const& a, successor const& b) const {
  partial_schedule const &of_a = beam_[a.of], &of_b = beam_[b.of];
  std::size_t const device_a = graph_.device_of(a.what), device_b = graph_.device_of(b.what);
  tick const end_a = a.start + graph_.length(a.what), end_b = b.start + graph_.length(b.what);
  for (std::size_t d = 0; d < of_a.free.size(); ++d)
    if ((d == device_a ? end_a : of_a.free[d]) > (d == device_b ? end_b : of_b.free[d])) return false;
  for (int const x : open_)
    if ((x == a.what ? end_a : nth(of_a.end, x)) > (x == b.what ? end_b : nth(of_b.end, x)))
      return false;
  return true;
}

ASHLAR_INLINE void beam_search::drop_dominated() {
  std::vector<successor>& all = successors_;
  merge_sort(all, [](successor const& a, successor const& b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    return a.least != b.least ? a.least < b.least : a.ends < b.ends;
  });
  std::size_t kept = 0;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    for (end = begin + 1; end < all.size() && all[end].hash == all[begin].hash;) ++end;
    if (end - begin > 1) find_open(all[begin]);
    std::size_t const first = kept;
    for (std::size_t i = begin; i < end; ++i) {
      bool is_dominated = false;
      for (std::size_t k = first; k < kept && !is_dominated; ++k)
        is_dominated = dominates(all[k], all[i]);
      if (!is_dominated) all[kept++] = all[i];
    }
  }
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(kept), all.end());
}

ASHLAR_INLINE beam_search::partial_schedule beam_search::after(successor const& s) {
  precedence_graph const& passes = search_->passes();
  std::size_t const device = graph_.device_of(s.what);
  partial_schedule t = beam_[s.of];
  ++t.done[nth(stream_, s.what)];
  nth(t.end, s.what) = t.free[device] = s.start + graph_.length(s.what);
  t.left[device] -= graph_.length(s.what);
  t.held[device] += nth(passes.takes, s.what) - nth(passes.gives, s.what);
  t.now = s.start;
  t.least = s.least;
  t.hash = s.hash;
  steps_.push_back({t.last, s.what});
  t.last = steps_.size() - 1;
  return t;
}

ASHLAR_INLINE list_scheduler::device_orders beam_search::orders_of(std::size_t last) const {
  list_scheduler::device_orders orders(limit_.size());
  for (std::size_t i = last; i != nothing; i = steps_[i].before)
    orders[graph_.device_of(steps_[i].what)].push_back(steps_[i].what);
  for (std::vector<int>& order : orders) reverse(order);
  return orders;
}

}  // namespace ashlar
