// How many steps work takes at least.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/fill/gaps.hpp>
#include <ashlar/fill/options.hpp>
#include <ashlar/fill/part_times.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Parts that fit into no gap of their device, and those that wait for them, by number.
constexpr dynamic_array<bool> find_long_parts(schedule const& step, tick length, part_times const& times,
                                              fill_options const& o) {
  dynamic_array<tick> longest;
  for (int d = 0; d < step.device_count(); ++d) {
    longest.push_back(0);
    for (idle_time const& g : step_gaps(step, d, length, o.interlocked))
      longest.back() = max_of(longest.back(), g.length());
  }
  dynamic_array<bool> found(static_cast<std::size_t>(times.count()), false);
  for (int number = 0; number < times.count(); ++number) {
    bool is_long = !times.is_collective(number)
                   && spare_room(longest[static_cast<std::size_t>(times.device(number))],
                                 times.duration(number), o.margin)
                          < 0;
    times.for_each_before(number,
                          [&](int from) { is_long = is_long || found[static_cast<std::size_t>(from)]; });
    found[static_cast<std::size_t>(number)] = is_long;
  }
  return found;
}

// At least 1 each: the ticks of work that fits by those that a device idles in a step, rounded up.
constexpr std::vector<int> step_bound(schedule const& step, tick length, part_times const& times,
                                      fill_options const& o) {
  dynamic_array<bool> const is_long = find_long_parts(step, length, times, o);
  std::vector<int> steps;
  for (int d = 0; d < step.device_count(); ++d) {
    tick idle = 0, work = 0;
    for (idle_time const& g : gaps_of(step, d, length)) idle += g.length();
    for (int number = 0; number < times.count(); ++number)
      if (times.device(number) == d && !times.is_collective(number)
          && !is_long[static_cast<std::size_t>(number)])
        work += times.duration(number);
    steps.push_back(work == 0 ? 1 : static_cast<int>((work + idle - 1) / idle));
  }
  return steps;
}

}  // namespace ashlar
