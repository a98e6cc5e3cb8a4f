// Definitions of first_fit.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/fill/first_fit.hpp>

namespace ashlar {

ASHLAR_INLINE first_fit_walk::first_fit_walk(schedule const& step, tick length, part_times& times,
                                             fill_options const& o)
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

ASHLAR_INLINE std::vector<int> first_fit_walk::run() {
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

ASHLAR_INLINE bool first_fit_walk::fits(int number, idle_time const& g, bool is_first) const {
  bool const counts = options_.ready == fill_readiness::published_counts;
  tick const work = times_.work_is_there(number);
  if (counts ? work == part_times::never || (is_first && times_.released_by_count(number) > g.start)
             : max_of(work, times_.released(number)) > g.start)
    return false;
  tick const duration = times_.duration(number);
  return spare_room(g.length(), duration, options_.margin) > 0
         && g.start + duration <= times_.deadline(number);
}

ASHLAR_INLINE void first_fit_walk::walk_gap(device_state& d, idle_time& g, bool is_first) {
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

ASHLAR_INLINE void first_fit_walk::walk_step(int taken) {
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

ASHLAR_INLINE bool first_fit_walk::fits_so_far(device_state& d) {
  device_state const before = d;
  for (idle_time& g : d.gaps) walk_gap(d, g, false);
  if (d.open.empty()) return true;
  d = before;
  for (run_of_parts const& job : d.open)
    for (std::size_t i = job.next; i < job.end; ++i) times_.place(d.parts[i], part_times::never);
  return false;
}

}  // namespace ashlar
