// Definitions of step_bound.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/fill/gaps.hpp>
#include <ashlar/fill/step_bound.hpp>

#include <cstddef>

namespace ashlar {

ASHLAR_INLINE dynamic_array<bool> find_long_parts(schedule const& step, tick length,
                                                  part_times const& times, fill_options const& o) {
  dynamic_array<tick> longest;
  for (int d = 0; d < step.device_count(); ++d) {
    longest.push_back(0);
    for (idle_time const& g : step_gaps(step, d, length, o.interlocked))
      longest.back() = max_of(longest.back(), g.length());
  }
  dynamic_array<bool> found(static_cast<std::size_t>(times.count()), false);
  for (int number = 0; number < times.count(); ++number) {
    bool is_long =
        !times.is_collective(number)
        && spare_room(nth(longest, times.device(number)), times.duration(number), o.margin) < 0;
    times.for_each_before(number, [&](int from) { is_long = is_long || nth(found, from); });
    nth(found, number) = is_long;
  }
  return found;
}

ASHLAR_INLINE dynamic_array<tick> heads_of(part_times const& times) {
  dynamic_array<tick> heads;
  for (int number = 0; number < times.count(); ++number) {
    tick head = times.released(number);
    times.for_each_before(
        number, [&](int from) { head = max_of(head, nth(heads, from) + times.duration(from)); });
    heads.push_back(head);
  }
  return heads;
}

ASHLAR_INLINE std::vector<int> step_bound(schedule const& step, tick length, part_times const& times,
                                          fill_options const& o) {
  dynamic_array<bool> const is_long = find_long_parts(step, length, times, o);
  dynamic_array<tick> const heads = heads_of(times);
  std::vector<int> steps;
  for (int d = 0; d < step.device_count(); ++d) {
    dynamic_array<keyed_index> parts;
    for (int number = 0; number < times.count(); ++number) {
      auto const i = static_cast<std::size_t>(number);
      if (times.device(number) == d && !times.is_collective(number) && !is_long[i])
        parts.push_back({heads[i], i});
    }
    sort_by_key(parts);
    steps.push_back(1);
    dynamic_array<idle_time> const gaps = step_gaps(step, d, length, o.interlocked);
    std::size_t gap = 0;
    tick used = 0;  // of that gap
    for (keyed_index const& part : parts)
      for (tick left = times.duration(static_cast<int>(part.index)); left > 0;) {
        tick const shift = (steps.back() - 1) * length;
        tick const free = max_of(part.key, gaps[gap].start + shift + used);
        tick const done = min_of(left, gaps[gap].end + shift - free);
        if (done > 0) {
          left -= done;
          used = free + done - gaps[gap].start - shift;
        }
        if (left == 0) break;
        used = 0;
        if (++gap < gaps.size()) continue;
        gap = 0;
        ++steps.back();
      }
  }
  return steps;
}

}  // namespace ashlar
