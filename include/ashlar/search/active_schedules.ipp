// Definitions of active_schedules.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/search/active_schedules.hpp>

#include <utility>

namespace ashlar::request_search_detail {

ASHLAR_INLINE active_schedules::active_schedules(std::vector<job> jobs, int device_count)
    : jobs_(std::move(jobs)),
      feeds_begin_(jobs_.size() + 1, 0),
      missing_(jobs_.size(), 0),
      ready_(jobs_.size(), 0),
      devices_(static_cast<std::size_t>(device_count)) {
  for (job const& j : jobs_)
    for (input const& i : j.needs)
      if (i.from != nobody) ++nth(feeds_begin_, i.from + 1);
  for (std::size_t x = 1; x < feeds_begin_.size(); ++x) feeds_begin_[x] += feeds_begin_[x - 1];
  feeds_.assign(static_cast<std::size_t>(feeds_begin_.back()), nobody);
  std::vector<int> next = feeds_begin_;
  for (std::size_t x = 0; x < jobs_.size(); ++x)
    for (input const& i : jobs_[x].needs)
      if (i.from != nobody) nth(feeds_, nth(next, i.from)++) = static_cast<int>(x);
}

ASHLAR_INLINE void active_schedules::run(std::vector<tick> const& priority, bool waits,
                                         std::vector<tick>& start) {
  for (device_state& each : devices_) {
    each.free = 0;
    each.here.clear();
  }
  start.assign(jobs_.size(), 0);
  for (std::size_t x = 0; x < jobs_.size(); ++x) {
    missing_[x] = 0;
    ready_[x] = jobs_[x].arrival;
    for (input const& i : jobs_[x].needs) missing_[x] += i.from == nobody ? 0 : 1;
    if (missing_[x] == 0) put(static_cast<int>(x));
  }
  for (std::size_t done = 0; done < jobs_.size(); ++done) {
    device_state* first = nullptr;
    for (device_state& each : devices_) {
      if (each.is_stale) choose(each, priority, waits);
      if (each.pick != nobody && (first == nullptr || each.first < first->first)) first = &each;
    }
    int const x = first->pick;
    std::size_t i = 0;
    while (first->here[i] != x) ++i;
    first->here[i] = first->here.back();
    first->here.pop_back();
    nth(start, x) = max_of(first->free, nth(ready_, x));
    tick const end = first->free = nth(start, x) + nth(jobs_, x).length;
    first->is_stale = true;
    for (int k = nth(feeds_begin_, x); k < nth(feeds_begin_, x + 1); ++k) {
      int const y = nth(feeds_, k);
      for (input const& need : nth(jobs_, y).needs)
        if (need.from == x) nth(ready_, y) = max_of(nth(ready_, y), end + need.delay);
      if (--nth(missing_, y) == 0) put(y);
    }
  }
}

ASHLAR_INLINE void active_schedules::put(int x) {
  device_state& own = nth(devices_, nth(jobs_, x).device);
  own.here.push_back(x);
  own.is_stale = true;
}

ASHLAR_INLINE void active_schedules::choose(device_state& at, std::vector<tick> const& priority,
                                            bool waits) {
  at.is_stale = false;
  at.pick = nobody;
  auto const start = [&](int x) { return max_of(at.free, nth(ready_, x)); };
  for (int const x : at.here) {
    tick const own = start(x) + (waits ? nth(jobs_, x).length : 0);
    if (at.pick == nobody || own < at.first) {
      at.first = own;
      at.pick = x;
    }
  }
  for (int const x : at.here)
    if ((waits ? start(x) < at.first : start(x) == at.first)
        && (nth(priority, x) < nth(priority, at.pick)
            || (nth(priority, x) == nth(priority, at.pick) && x < at.pick)))
      at.pick = x;
}

}  // namespace ashlar::request_search_detail
