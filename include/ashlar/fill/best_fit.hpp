// Work packed into the gaps of as few steps as it finds.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/fill/options.hpp>
#include <ashlar/fill/part_times.hpp>
#include <ashlar/fill/placed_memory.hpp>
#include <ashlar/fill/rooms.hpp>
#include <ashlar/fill/step_bound.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Tries the bound of each device's steps first, and one more for a device that fails. A try takes the
// parts one by one, none before those that it reads, and puts each where its room has least left, or
// first in time. A try backward does the same from the end, none before those that read it: where long
// parts read many short ones, they get the long gaps. The tries differ in the order of the parts and in
// that choice; the first one that places all wins. Parts that are longer than every gap, and what waits
// for them, are left out.
class best_fit_packing {
 public:
  // Refers to all. `step` is `length` ticks long and starts at 0.
  constexpr best_fit_packing(schedule const& step, tick length, part_times& times, fill_options const& o)
      : step_(step),
        length_(length),
        times_(times),
        options_(o),
        steps_(step_bound(step, length, times, o)),
        held_(static_cast<std::size_t>(step.device_count()),
              placed_memory(step, length, times.work(), o)),
        long_(find_long_parts(step, length, times, o)) {
    for (int number = 0; number < times.count(); ++number)
      has_collectives_ = has_collectives_ || times.is_collective(number);
  }

  // Places what fits into a gap; the steps that each device takes. Throws
  // violation{rule::no_pass_starts_before_its_input} for a pass that reads work for which it finds no
  // place before it, and violation{rule::memory_is_within_budget} with the least bytes that a place
  // would do for a part that breaks the limit wherever it is put.
  constexpr std::vector<int> run() {
    // Without sums over devices, each device is a problem of its own.
    if (has_collectives_) {
      pack_group(all);
    } else {
      for (int d = 0; d < step_.device_count(); ++d) pack_group(d);
    }
    return steps_;
  }

 private:
  static constexpr int all = -1;

  enum class part_order : unsigned char { as_numbered, longest_first, most_to_come_first };
  struct attempt {
    part_order order;
    bool is_best;      // where least is left; else first in time, or last
    bool is_backward;  // not where sums over devices join what is packed
  };
  // The last one is that of which waits_in_vain() asks.
  static constexpr attempt attempts[] = {
      {part_order::longest_first, true, false},      {part_order::longest_first, false, false},
      {part_order::most_to_come_first, true, false}, {part_order::most_to_come_first, false, false},
      {part_order::as_numbered, true, true},         {part_order::as_numbered, false, true},
      {part_order::as_numbered, true, false},        {part_order::as_numbered, false, false},
  };

  constexpr bool is_of(int number, int group) const {
    return !times_.is_collective(number) && !nth(long_, number)
           && (group == all || times_.device(number) == group);
  }

  constexpr void pack_group(int group) {
    for (;;) {
      int failed = part_times::nobody;
      for (attempt const& a : attempts) {
        if (a.is_backward && has_collectives_) continue;
        failed = a.is_backward ? first_failure_backward(group, a.is_best) : first_failure(group, a);
        if (failed == part_times::nobody) return;
      }
      if (times_.is_urgent(failed))
        refuse({.broken = rule::no_pass_starts_before_its_input,
                .first = {.device = times_.device(failed), .what = times_.what(failed)}});
      if (waits_in_vain(failed))
        refuse({.broken = rule::memory_is_within_budget,
                .first = {.device = times_.device(failed), .what = times_.what(failed)},
                .number = refused_});
      ++nth(steps_, times_.device(failed));
    }
  }

  // Whether memory alone keeps a part out of a last step in which nothing else lies: then it will keep
  // it out of all steps after that, too.
  constexpr bool waits_in_vain(int failed) const {
    if (refused_ == part_times::never) return false;
    int const device = times_.device(failed);
    tick const last = (nth(steps_, device) - 1) * length_;
    for (int number = 0; number < times_.count(); ++number)
      if (times_.device(number) == device && times_.is_placed(number) && times_.end(number) > last)
        return false;
    return true;
  }

  // The first part that finds no place, or nobody.
  constexpr int first_failure(int group, attempt const& a) {
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

  constexpr dynamic_array<room> rooms_on(int device) const {
    return rooms_of(step_, device, length_, nth(steps_, device), options_.interlocked);
  }

  constexpr bool place(int number, dynamic_array<room>& rooms, bool is_best) {
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

  // The same from the end, on one device, the last number first.
  constexpr int first_failure_backward(int device, bool is_best) {
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

  // Its start, or never.
  constexpr tick place_backward(int number, tick latest, dynamic_array<room>& rooms, bool is_best) {
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

  // None before what it reads.
  constexpr dynamic_array<int> ordered(int group, part_order by) const {
    dynamic_array<int> order;
    for (int number = 0; number < times_.count(); ++number)
      if (is_of(number, group)) order.push_back(number);
    sort_by_rank(order, by);
    // What the pipeline waits for comes first, and with it what that waits for.
    merge_sort(order, [&](int a, int b) { return times_.is_urgent(a) && !times_.is_urgent(b); });
    return order;
  }

  constexpr void sort_by_rank(dynamic_array<int>& order, part_order by) const {
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

  // How many parts one after the other come before each (ticks of those after it and itself).
  constexpr dynamic_array<tick> ranks(part_order by) const {
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

  schedule const& step_;
  tick length_;
  part_times& times_;
  fill_options const& options_;
  std::vector<int> steps_;
  std::vector<placed_memory> held_;         // by device
  byte_count refused_ = part_times::never;  // least that the part placed last would hold
  dynamic_array<bool> long_;
  bool has_collectives_ = false;
};

}  // namespace ashlar
