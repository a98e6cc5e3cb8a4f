// Definitions of exact_fit.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/fill/exact_fit.hpp>
#include <ashlar/fill/step_bound.hpp>

#include <cstddef>

namespace ashlar {

ASHLAR_INLINE exact_fit::exact_fit(schedule const& step, tick length, part_times& times,
                                   fill_options const& o)
    : step_(step),
      length_(length),
      times_(times),
      options_(o),
      long_(find_long_parts(step, length, times, o)) {
  dynamic_array<int> count(static_cast<std::size_t>(step.device_count()), 0);
  for (int number = 0; number < times.count(); ++number) {
    int& n = nth(count, times.device(number));
    bool const sums = times.is_collective(number);
    if (!sums && (nth(long_, number) || ++n <= most_parts)) continue;
    refuse({.broken = rule::parameter_is_at_most,
            .first = {.device = times.device(number), .what = times.what(number)},
            .number = sums ? 0 : most_parts,
            .which = sums ? parameter::work_sum_count : parameter::work_part_count,
            .given = sums ? 1 : n});
  }
}

ASHLAR_INLINE std::vector<int> exact_fit::run() {
  std::vector<int> steps;
  for (int d = 0; d < step_.device_count(); ++d) steps.push_back(run(d));
  return steps;
}

ASHLAR_INLINE int exact_fit::run(int device) {
  dynamic_array<int> parts;
  for (int number = 0; number < times_.count(); ++number)
    if (times_.device(number) == device && !nth(long_, number)) parts.push_back(number);
  if (parts.empty()) return 1;
  std::size_t const n = parts.size();
  dynamic_array<std::size_t> before(n, 0);  // as sets
  for (std::size_t i = 0; i < n; ++i)
    times_.for_each_before(parts[i], [&](int from) {
      for (std::size_t k = 0; k < i; ++k)
        if (parts[k] == from) before[i] |= std::size_t{1} << k;
    });
  gaps_ = step_gaps(step_, device, length_, options_.interlocked);
  dynamic_array<state> best(std::size_t{1} << n);
  best[0].end = 0;
  for (std::size_t set = 0; set < best.size(); ++set) {
    if (best[set].end == never) continue;
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t const with = set | std::size_t{1} << i;
      if (with == set || (before[i] & ~set) != 0) continue;
      tick const start = first_place(parts[i], best[set].end);
      if (start == never || start + times_.duration(parts[i]) >= best[with].end) continue;
      best[with] = {start + times_.duration(parts[i]), static_cast<int>(i)};
    }
  }
  if (best.back().end == never)
    refuse({.broken = rule::no_pass_starts_before_its_input,
            .first = {.device = device, .what = times_.what(first_needed_by_pipeline(parts))}});
  tick const start = best.back().end - times_.duration(nth(parts, best.back().last));
  for (std::size_t set = best.size() - 1; set != 0;) {
    auto const i = static_cast<std::size_t>(best[set].last);
    times_.place(parts[i], best[set].end - times_.duration(parts[i]));
    set &= ~(std::size_t{1} << i);
  }
  return static_cast<int>((start - gaps_[0].start) / length_) + 1;
}

ASHLAR_INLINE tick exact_fit::first_place(int number, tick from) const {
  from = max_of(from, times_.released(number));
  tick const duration = times_.duration(number);
  for (tick shift = max_of(tick{0}, from / length_ * length_ - length_);; shift += length_)
    for (idle_time const& g : gaps_) {
      tick const start = max_of(from, g.start + shift);
      if (spare_room(g.end + shift - start, duration, options_.margin) < 0) continue;
      return start + duration <= times_.deadline(number) ? start : never;
    }
}

ASHLAR_INLINE int exact_fit::first_needed_by_pipeline(dynamic_array<int> const& parts) const {
  for (int number : parts)
    if (times_.is_needed_by_pipeline(number)) return number;
  return parts[0];
}

}  // namespace ashlar
