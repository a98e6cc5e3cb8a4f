// Puts work into the order of a schedule's passes as if it took no time.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Work for a time stands after the passes that have started before, and before those that start then;
// among work of one time the rank decides, then the order of add(). All inputs of work must be there by
// its time (for work: or be of that time and a lower rank), and who reads it must start then or later,
// so that no cycle of waits can come about.
class timed_work {
 public:
  explicit constexpr timed_work(schedule const& s) : items_(s.order.size()) {
    for (std::size_t d = 0; d < items_.size(); ++d)
      for (time_slot const& t : s.order[d]) items_[d].push_back({t.start, passes, t});
  }

  constexpr void add(int device, tick time, int rank, pass what) {
    nth(items_, device).push_back({time, rank, {what, time}});
  }

  constexpr std::vector<std::vector<time_slot>> orders() {
    std::vector<std::vector<time_slot>> all(items_.size());
    for (std::size_t d = 0; d < items_.size(); ++d) {
      merge_sort(items_[d], [](item const& a, item const& b) {
        return a.time != b.time ? a.time < b.time : a.rank < b.rank;
      });
      for (item const& i : items_[d]) all[d].push_back(i.what);
    }
    return all;
  }

 private:
  static constexpr int passes = 100;

  struct item {
    tick time = 0;
    int rank = 0;
    time_slot what;
  };
  std::vector<std::vector<item>> items_;  // by device
};

}  // namespace ashlar
