// Work in the fewest possible steps, for devices with few parts.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/fill/gaps.hpp>
#include <ashlar/fill/options.hpp>
#include <ashlar/fill/part_times.hpp>
#include <ashlar/fill/step_bound.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Dynamic programming over sets of parts, device by device. Parts of a device follow each other, so of
// all orders of a set only the earliest end of its last part matters: what comes next waits for that,
// for passes of the pipeline, and for parts that are in the set. Parts that are longer than every gap,
// and what waits for them, are left out. O(2^n n (n + gaps)) for n parts of a device.
class exact_fit {
 public:
  static constexpr int most_parts = 16;  // of a device

  // Refers to all. `step` is `length` ticks long and starts at 0. Throws
  // violation{rule::parameter_is_at_most} for a device with more parts, and for sums over devices, which
  // have no number of parts that would do.
  constexpr exact_fit(schedule const& step, tick length, part_times& times, fill_options const& o)
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

  // Places what fits into a gap; the steps that each device takes. Throws as best_fit_packing does.
  constexpr std::vector<int> run() {
    std::vector<int> steps;
    for (int d = 0; d < step_.device_count(); ++d) steps.push_back(run(d));
    return steps;
  }

 private:
  static constexpr tick never = part_times::never;

  struct state {
    tick end = never;  // of the last part, as early as can be
    int last = 0;      // of the device's list
  };

  constexpr int run(int device) {
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
              .first = {.device = device, .what = times_.what(first_urgent(parts))}});
    tick const start = best.back().end - times_.duration(nth(parts, best.back().last));
    for (std::size_t set = best.size() - 1; set != 0;) {
      auto const i = static_cast<std::size_t>(best[set].last);
      times_.place(parts[i], best[set].end - times_.duration(parts[i]));
      set &= ~(std::size_t{1} << i);
    }
    return static_cast<int>((start - gaps_[0].start) / length_) + 1;
  }

  // The earliest start not before `from` at which the part is ready and fits, or never.
  constexpr tick first_place(int number, tick from) const {
    from = max_of(from, times_.released(number));
    tick const duration = times_.duration(number);
    for (tick shift = max_of(tick{0}, from / length_ * length_ - length_);; shift += length_)
      for (idle_time const& g : gaps_) {
        tick const start = max_of(from, g.start + shift);
        if (spare_room(g.end + shift - start, duration, options_.margin) < 0) continue;
        return start + duration <= times_.deadline(number) ? start : never;
      }
  }

  constexpr int first_urgent(dynamic_array<int> const& parts) const {
    for (int number : parts)
      if (times_.is_urgent(number)) return number;
    return parts[0];
  }

  schedule const& step_;
  tick length_;
  part_times& times_;
  fill_options const& options_;
  dynamic_array<bool> long_;
  dynamic_array<idle_time> gaps_;
};

}  // namespace ashlar
