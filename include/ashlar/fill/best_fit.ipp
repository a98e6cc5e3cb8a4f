// Definitions of best_fit.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/fill/best_fit.hpp>
#include <ashlar/fill/step_bound.hpp>

#include <cstddef>

namespace ashlar {

ASHLAR_INLINE best_fit_packing::best_fit_packing(schedule const& step, tick length, part_times& times,
                                                 fill_options const& o)
    : step_(step),
      length_(length),
      times_(times),
      options_(o),
      steps_(step_bound(step, length, times, o)),
      held_(static_cast<std::size_t>(step.device_count()), placed_memory(step, length, times.work(), o)),
      long_(find_long_parts(step, length, times, o)) {
  for (int number = 0; number < times.count(); ++number)
    has_collectives_ = has_collectives_ || times.is_collective(number);
}

ASHLAR_INLINE std::vector<int> best_fit_packing::run() {
  // Without sums over devices, each device is a problem of its own.
  if (has_collectives_) {
    pack_group(all);
  } else {
    for (int d = 0; d < step_.device_count(); ++d) pack_group(d);
  }
  return steps_;
}

ASHLAR_INLINE void best_fit_packing::pack_group(int group) {
  for (;;) {
    int failed = part_times::nobody;
    for (attempt const& a : attempts) {
      if (a.is_backward && has_collectives_) continue;
      failed = a.is_backward ? first_failure_backward(group, a.is_best) : first_failure(group, a);
      if (failed == part_times::nobody) return;
    }
    if (times_.is_needed_by_pipeline(failed))
      refuse({.broken = rule::no_pass_starts_before_its_input,
              .first = {.device = times_.device(failed), .what = times_.what(failed)}});
    if (waits_in_vain(failed))
      refuse({.broken = rule::memory_is_within_budget,
              .first = {.device = times_.device(failed), .what = times_.what(failed)},
              .number = refused_});
    ++nth(steps_, times_.device(failed));
  }
}

ASHLAR_INLINE bool best_fit_packing::waits_in_vain(int failed) const {
  if (refused_ == part_times::never) return false;
  int const device = times_.device(failed);
  tick const last = (nth(steps_, device) - 1) * length_;
  for (int number = 0; number < times_.count(); ++number)
    if (times_.device(number) == device && times_.is_placed(number) && times_.end(number) > last)
      return false;
  return true;
}

ASHLAR_INLINE int best_fit_packing::first_failure(int group, attempt const& a) {
  std::vector<dynamic_array<room>> rooms(steps_.size());
  for (std::size_t d = 0; d < steps_.size(); ++d)
    if (group == all || group == static_cast<int>(d)) {
      rooms[d] = rooms_on(static_cast<int>(d));
      held_[d].begin(static_cast<int>(d), steps_[d]);
    }
  dynamic_array<int> const order = ordered(group, a.order);
  for (int number : order) times_.place(number, part_times::never);
  for (int number : order)
    if (!place(number, nth(rooms, times_.device(number)), a.is_best)) return number;
  return part_times::nobody;
}

ASHLAR_INLINE bool best_fit_packing::place(int number, dynamic_array<room>& rooms, bool is_best) {
  tick const duration = times_.duration(number), ready = times_.ready(number);
  placed_memory& held = nth(held_, times_.device(number));
  std::size_t chosen = rooms.size();
  refused_ = part_times::never;
  tick least = part_times::never;
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    tick const from = max_of(ready, rooms[i].start);
    if (!rooms[i].holds(from, duration, options_.margin) || from + duration > times_.deadline(number))
      continue;
    tick const left = rooms[i].length() - duration;
    if (left >= least) continue;
    byte_count const peak = held.peak_with(times_.what(number), from, from + duration);
    if (!held.fits(peak)) {
      refused_ = min_of(refused_, peak);
      continue;
    }
    least = left;
    chosen = i;
    if (!is_best) break;
  }
  if (chosen == rooms.size()) return false;
  tick const start = max_of(ready, rooms[chosen].start);
  times_.place(number, start);
  held.hold(times_.what(number), start, start + duration);
  occupy(rooms, chosen, start, start + duration);
  return true;
}

ASHLAR_INLINE int best_fit_packing::first_failure_backward(int device, bool is_best) {
  dynamic_array<room> rooms = rooms_on(device);
  nth(held_, device).begin(device, nth(steps_, device));
  dynamic_array<tick> latest;  // ends
  for (int number = 0; number < times_.count(); ++number) latest.push_back(times_.deadline(number));
  for (int number = times_.count(); number-- > 0;) {
    if (!is_of(number, device)) continue;
    tick const start = place_backward(number, nth(latest, number), rooms, is_best);
    if (start == part_times::never) return number;
    times_.for_each_before(number, [&](int from) {
      tick& end = nth(latest, from);
      end = min_of(end, start);
    });
  }
  return part_times::nobody;
}

ASHLAR_INLINE tick best_fit_packing::place_backward(int number, tick latest, dynamic_array<room>& rooms,
                                                    bool is_best) {
  tick const duration = times_.duration(number);
  placed_memory& held = nth(held_, times_.device(number));
  std::size_t chosen = rooms.size();
  tick least = part_times::never, start = part_times::never;
  for (std::size_t i = rooms.size(); i-- > 0;) {
    tick const at = min_of(rooms[i].latest_start(duration, options_.margin), latest - duration);
    if (at < max_of(rooms[i].start, times_.released(number))) continue;
    tick const left = rooms[i].length() - duration;
    if (left >= least || !held.fits(held.peak_with(times_.what(number), at, at + duration))) continue;
    least = left;
    chosen = i;
    start = at;
    if (!is_best) break;
  }
  if (chosen == rooms.size()) return start;
  times_.place(number, start);
  held.hold(times_.what(number), start, start + duration);
  occupy(rooms, chosen, start, start + duration);
  return start;
}

ASHLAR_INLINE dynamic_array<int> best_fit_packing::ordered(int group, part_order by) const {
  dynamic_array<int> order;
  for (int number = 0; number < times_.count(); ++number)
    if (is_of(number, group)) order.push_back(number);
  sort_by_rank(order, by);
  // Parts that the pipeline waits for come first, with all that they wait for.
  merge_sort(order, [&](int a, int b) {
    return times_.is_needed_by_pipeline(a) && !times_.is_needed_by_pipeline(b);
  });
  return order;
}

ASHLAR_INLINE void best_fit_packing::sort_by_rank(dynamic_array<int>& order, part_order by) const {
  if (by == part_order::as_numbered) return;
  dynamic_array<tick> const rank = ranks(by);
  if (by == part_order::longest_first) {
    merge_sort(order, [&](int a, int b) {
      auto const i = static_cast<std::size_t>(a), k = static_cast<std::size_t>(b);
      return rank[i] != rank[k] ? rank[i] < rank[k] : times_.duration(a) > times_.duration(b);
    });
  } else {
    merge_sort(order, [&](int a, int b) { return nth(rank, a) > nth(rank, b); });
  }
}

ASHLAR_INLINE dynamic_array<tick> best_fit_packing::ranks(part_order by) const {
  auto const count = static_cast<std::size_t>(times_.count());
  dynamic_array<tick> rank(count, 0);
  if (by == part_order::longest_first) {
    for (int number = 0; number < times_.count(); ++number)
      times_.for_each_before(number, [&](int from) {
        tick& own = nth(rank, number);
        own = max_of(own, nth(rank, from) + 1);
      });
    return rank;
  }
  for (int number = times_.count(); number-- > 0;) {
    tick& own = nth(rank, number);
    own += times_.duration(number);
    times_.for_each_before(number, [&](int from) {
      tick& before = nth(rank, from);
      before = max_of(before, own);
    });
  }
  return rank;
}

}  // namespace ashlar
