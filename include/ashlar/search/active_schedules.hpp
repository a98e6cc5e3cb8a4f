// Active schedules of requests, from priorities of their passes.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/core/ticks.hpp>

#include <cstddef>
#include <vector>

namespace ashlar::request_search_detail {

// Passes by number, each with at most two that it needs. A pass that needs another one has the higher
// number.
class active_schedules {
 public:
  static constexpr int nobody = -1;

  struct input {
    int from = nobody;
    tick delay = 0;
  };
  struct job {
    int device = 0;
    tick length = 0, arrival = 0;
    input needs[2] = {};
  };

  // Takes jobs on devices 0 .. device_count - 1. Linear.
  active_schedules(std::vector<job> jobs, int device_count);

  std::vector<job> const& jobs() const { return jobs_; }

  // Finds the start of each pass. Always takes the pass of least priority of those on one device that
  // could start before any of them could end there (Giffler and Thompson); or, without waiting, of those
  // that could start first. O(passes (devices + passes that wait for one)).
  void run(std::vector<tick> const& priority, bool waits, std::vector<tick>& start);

 private:
  struct device_state {
    tick free = 0;
    std::vector<int> here;  // passes whose inputs are there, or are known to come
    int pick = nobody;
    tick first = 0;  // end, or start without waiting, that a pass of `here` could have
    bool is_stale = true;
  };

  void choose(device_state& at, std::vector<tick> const& priority, bool waits);
  void put(int x);

  std::vector<job> jobs_;
  std::vector<int> feeds_, feeds_begin_;
  std::vector<int> missing_;
  std::vector<tick> ready_;
  std::vector<device_state> devices_;
};

}  // namespace ashlar::request_search_detail

#ifndef ASHLAR_COMPILED
#include <ashlar/search/active_schedules.ipp>
#endif
