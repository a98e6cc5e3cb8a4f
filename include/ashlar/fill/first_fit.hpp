// The greedy walk of PipeFisher. Osawa, Li, Hoefler: PipeFisher: Efficient Training of Large Language
// Models Using Pipelining and Fisher Information Matrices (2023), section 3.2 and its public scheduler.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/fill/gaps.hpp>
#include <ashlar/fill/options.hpp>
#include <ashlar/fill/part_times.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Goes through the gaps in order of time. In a gap it goes through the jobs in their order, places parts
// of each as long as they are ready and fit, and does so again until nothing fits. After each step a
// device tries the rest in all gaps so far; if those do not hold all of it, it takes one more step. If
// that takes nothing, the rest comes after it.
class first_fit_walk {
 public:
  // Refers to all. `step` is `length` ticks long and starts at 0.
  first_fit_walk(schedule const& step, tick length, part_times& times, fill_options const& o);

  // Places parts that find a gap; returns the steps that each device takes.
  std::vector<int> run();

 private:
  // Parts of one job in a device's list.
  struct run_of_parts {
    std::size_t next = 0, end = 0;
  };
  struct device_state {
    dynamic_array<int> parts;          // by number
    dynamic_array<run_of_parts> open;  // jobs that are not done
    dynamic_array<idle_time> gaps;     // what is free of all steps so far
    bool walks = false, has_placed = false, is_stuck = false;
  };

  device_state& of(int device) { return nth(devices_, device); }

  bool fits(int number, idle_time const& g, bool is_first) const;

  void walk_gap(device_state& d, idle_time& g, bool is_first);

  // All devices that are not done, gap by gap in order of time.
  void walk_step(int taken);

  // Whether the rest goes into the gaps so far; if it does not, nothing is placed.
  bool fits_so_far(device_state& d);

  schedule const& step_;
  tick length_;
  part_times& times_;
  fill_options const& options_;
  std::vector<device_state> devices_;
  bool has_collectives_ = false;
};

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/fill/first_fit.ipp>
#endif
