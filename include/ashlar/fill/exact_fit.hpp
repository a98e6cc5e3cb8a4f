// Work in the fewest possible steps, for devices with few parts.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/fill/gaps.hpp>
#include <ashlar/fill/options.hpp>
#include <ashlar/fill/part_times.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <vector>

namespace ashlar {

// Dynamic programming over sets of parts, device by device. Parts of a device follow each other, so of
// all orders of a set only the earliest end of its last part matters: the next part waits for that, for
// passes of the pipeline, and for parts that are in the set. Parts that are longer than every gap, and
// those that wait for them, are left out. O(2^n n (n + gaps)) for n parts of a device.
class exact_fit {
 public:
  static constexpr int most_parts = 16;  // of a device

  // Refers to all. `step` is `length` ticks long and starts at 0. Throws
  // violation{rule::parameter_is_at_most} for a device with more parts, and for sums over devices, which
  // have no number of parts that would do.
  exact_fit(schedule const& step, tick length, part_times& times, fill_options const& o);

  // Places parts that fit into a gap; returns the steps that each device takes. Throws as
  // best_fit_packing does.
  std::vector<int> run();

 private:
  static constexpr tick never = part_times::never;

  struct state {
    tick end = never;  // of the last part, as early as can be
    int last = 0;      // of the device's list
  };

  int run(int device);

  // The earliest start not before `from` at which the part is ready and fits, or never.
  tick first_place(int number, tick from) const;

  int first_needed_by_pipeline(dynamic_array<int> const& parts) const;

  schedule const& step_;
  tick length_;
  part_times& times_;
  fill_options const& options_;
  dynamic_array<bool> long_;
  dynamic_array<idle_time> gaps_;
};

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/fill/exact_fit.ipp>
#endif
