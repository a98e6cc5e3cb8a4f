// The greedy walk of PipeFisher. Osawa, Li, Hoefler: PipeFisher: Efficient Training of Large Language
// Models Using Pipelining and Fisher Information Matrices (2023), section 3.2 and its public scheduler.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/sort.hpp>
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
// device tries what is left in all gaps that there are so far; if that does not hold all of it, it takes
// one more step. If that takes nothing, the rest comes after it.
class first_fit_walk {
 public:
  // Refers to all. `step` is `length` ticks long and starts at 0.
  constexpr first_fit_walk(schedule const& step, tick length, part_times& times, fill_options const& o)
      : step_(step),
        length_(length),
        times_(times),
        options_(o),
        devices_(static_cast<std::size_t>(step.device_count())) {
    for (int number = 0; number < times.count(); ++number) {
      if (times.is_collective(number)) {
        has_collectives_ = true;
        continue;
      }
      device_state& d = of(times.device(number));
      bool const follows = times.before(number) != part_times::nobody;
      if (!follows) d.open.push_back({d.parts.size(), d.parts.size()});
      d.parts.push_back(number);
      ++d.open.back().end;
    }
  }

  // Places what finds a gap; the steps that each device takes.
  constexpr std::vector<int> run() {
    std::vector<int> steps(devices_.size(), 1);
    walk_step(0);
    for (int taken = 1;; ++taken) {
      bool open = false, placed = false;
      for (device_state& d : devices_) {
        if (d.open.empty() || d.is_stuck || fits_so_far(d)) continue;
        open = true;
        d.has_placed = false;
      }
      if (!open) break;
      walk_step(taken);
      for (device_state const& d : devices_) placed = placed || (d.walks && d.has_placed);
      for (std::size_t i = 0; i < devices_.size(); ++i) {
        device_state& d = devices_[i];
        if (d.is_stuck || !d.walks) continue;
        steps[i] = taken + 1;
        d.is_stuck = !d.has_placed && (!has_collectives_ || !placed);
      }
    }
    return steps;
  }

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

  constexpr device_state& of(int device) { return nth(devices_, device); }

  constexpr bool fits(int number, idle_time const& g, bool is_first) const {
    bool const counts = options_.ready == fill_readiness::published_counts;
    tick const work = times_.work_is_there(number);
    if (counts ? work == part_times::never || (is_first && times_.released_by_count(number) > g.start)
               : max_of(work, times_.released(number)) > g.start)
      return false;
    tick const duration = times_.duration(number);
    return spare_room(g.length(), duration, options_.margin) > 0
           && g.start + duration <= times_.deadline(number);
  }

  constexpr void walk_gap(device_state& d, idle_time& g, bool is_first) {
    for (bool placed = true; placed;) {
      placed = false;
      for (std::size_t i = 0; i < d.open.size(); ++i) {
        run_of_parts& job = d.open[i];
        for (; job.next < job.end && fits(d.parts[job.next], g, is_first); ++job.next) {
          times_.place(d.parts[job.next], g.start);
          g.start = times_.end(d.parts[job.next]);
          placed = d.has_placed = true;
        }
        if (job.next < job.end) continue;
        // The job after one that is done has to wait for the next round: so it is published.
        for (std::size_t k = i; k + 1 < d.open.size(); ++k) d.open[k] = d.open[k + 1];
        d.open.pop_back();
      }
    }
  }

  // All devices that are not done, gap by gap in order of time.
  constexpr void walk_step(int taken) {
    struct place {
      std::size_t device = 0, index = 0;
    };
    dynamic_array<place> places;
    dynamic_array<keyed_index> by_start;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      device_state& d = devices_[i];
      d.walks = !d.open.empty() && !d.is_stuck;
      if (!d.walks) continue;
      for (idle_time g : gaps_of(step_, static_cast<int>(i), length_)) {
        g = {g.start + taken * length_, g.end + taken * length_};
        by_start.push_back({g.start, places.size()});
        places.push_back({i, d.gaps.size()});
        d.gaps.push_back(g);
      }
    }
    sort_by_key(by_start);
    for (keyed_index const& k : by_start) {
      place const p = places[k.index];
      device_state& d = devices_[p.device];
      walk_gap(d, d.gaps[p.index], taken == 0);
    }
  }

  // Whether the rest goes into the gaps so far; if it does not, nothing is placed.
  constexpr bool fits_so_far(device_state& d) {
    device_state const before = d;
    for (idle_time& g : d.gaps) walk_gap(d, g, false);
    if (d.open.empty()) return true;
    d = before;
    for (run_of_parts const& job : d.open)
      for (std::size_t i = job.next; i < job.end; ++i) times_.place(d.parts[i], part_times::never);
    return false;
  }

  schedule const& step_;
  tick length_;
  part_times& times_;
  fill_options const& options_;
  std::vector<device_state> devices_;
  bool has_collectives_ = false;
};

}  // namespace ashlar
