// Definitions of request_bound.hpp.
#pragma once

#include <ashlar/block/form.hpp>
#include <ashlar/bounds/request_bound.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>

#include <algorithm>
#include <cstddef>

namespace ashlar::request_bound_detail {

// Work of one device: not before its head, and followed by its tail.
struct job {
  tick head = 0, length = 0, tail = 0;
};

// Runs jobs that may be interrupted on one machine, always the one there is whose `urgency` is least: of
// (what is left of it, the job). Calls end(job, time) for each. O(n log n).
template <class Urgency, class End>
void run_interrupted(std::vector<job> jobs, Urgency urgency, End end) {
  std::sort(jobs.begin(), jobs.end(), [](job const& a, job const& b) { return a.head < b.head; });
  struct entry {
    tick urgency;
    std::size_t job;
  };
  auto const comes_later = [](entry const& a, entry const& b) {
    return a.urgency != b.urgency ? a.urgency > b.urgency : a.job > b.job;
  };
  std::vector<entry> here;
  std::vector<tick> left;
  for (job const& j : jobs) left.push_back(j.length);
  auto const put = [&](std::size_t own) {
    here.push_back({urgency(left[own], jobs[own]), own});
    std::push_heap(here.begin(), here.end(), comes_later);
  };
  tick now = 0;
  for (std::size_t next = 0; next < jobs.size() || !here.empty();) {
    if (here.empty()) now = max_of(now, jobs[next].head);
    while (next < jobs.size() && jobs[next].head <= now) put(next++);
    std::size_t const own = here.front().job;
    std::pop_heap(here.begin(), here.end(), comes_later);
    here.pop_back();
    tick const run = min_of(left[own], (next < jobs.size() ? jobs[next].head : max_tick) - now);
    now += run;
    left[own] -= run;
    if (left[own] > 0)
      put(own);
    else
      end(jobs[own], now);
  }
}

// The least time until all jobs and tails are over.
inline tick longest(std::vector<job> const& jobs) {
  tick last = -max_tick;
  run_interrupted(
      jobs, [](tick, job const& j) { return -j.tail; },
      [&](job const& j, tick now) { last = max_of(last, now + j.tail); });
  return last;
}

// The ends of jobs without tails, ascending, none later than in any other order.
inline std::vector<tick> shortest_first(std::vector<job> const& jobs) {
  std::vector<tick> ends;
  run_interrupted(
      jobs, [](tick left, job const&) { return left; },
      [&](job const&, tick now) { ends.push_back(now); });
  return ends;
}

class bound_finder {
 public:
  bound_finder(placement const& where, request_list const& asked, costs const& cost)
      : where_(where), asked_(asked), cost_(cost), first_(first_chunks(asked)) {
    auto const n = static_cast<std::size_t>(micro_batch_count(asked));
    heads_.assign(static_cast<std::size_t>(where.stage_count()), std::vector<tick>(n, 0));
    tails_ = heads_;
    stages_.resize(static_cast<std::size_t>(where.device_count()));
    for (int s = 0; s < where.stage_count(); ++s) nth(stages_, where.device_of(0, s)).push_back(s);
    for (int r = 0; r < count_; ++r) find_paths(r);
  }

  request_bounds find() {
    request_bounds least;
    auto const count = asked_.size();
    std::vector<tick> ends, alone;
    tick arrivals = 0;
    for (int r = 0; r < count_; ++r) {
      ends.push_back(end_alone(r));
      alone.push_back(ends.back() - nth(asked_, r).arrival);
      arrivals = saturating_sum(arrivals, nth(asked_, r).arrival);
    }
    std::sort(ends.begin(), ends.end());
    std::sort(alone.begin(), alone.end());
    least.makespan = ends.back();
    least.percentile_99 = alone[in_percentile_99(count) - 1];
    tick sum_of_device = 0;
    for (std::vector<int> const& stages : stages_) {
      if (stages.empty()) continue;
      least.makespan = max_of(least.makespan, longest(passes_on(stages, false)));
      least.percentile_99 =
          max_of(least.percentile_99, in_percentile_99(count) == count
                                          ? longest(passes_on(stages, true))
                                          : longest_but(count - in_percentile_99(count), stages));
      for (std::size_t from = 0; from < stages.size(); ++from)
        for (std::size_t to = from; to < stages.size(); ++to)
          sum_of_device =
              max_of(sum_of_device, raise(ends, {stages.begin() + static_cast<std::ptrdiff_t>(from),
                                                 stages.begin() + static_cast<std::ptrdiff_t>(to) + 1}));
    }
    tick sum = 0;
    for (tick const end : ends) sum = saturating_sum(sum, end);
    least.mean = max_of(sum, sum_of_device) - arrivals;
    if (arrivals == 0)  // all are there at once
      least.percentile_99 = max_of(least.percentile_99, ends[in_percentile_99(count) - 1]);
    return least;
  }

 private:
  tick length(int stage, int k) const {
    return cost_.of({pass_kind::forward, stage, k}, where_.device_of(0, stage));
  }
  tick hop(int stage) const {
    return cost_.transfer(where_.device_of(0, stage), where_.device_of(0, stage + 1));
  }
  tick& head(int stage, int k) { return nth(nth(heads_, stage), k); }
  tick& tail(int stage, int k) { return nth(nth(tails_, stage), k); }

  // The longest ways through the request's own passes, before and after each.
  void find_paths(int r) {
    int const first = nth(first_, r), end = nth(first_, r + 1), last = where_.stage_count() - 1;
    for (int s = 0; s <= last; ++s)
      for (int k = first; k < end; ++k) {
        tick& own = head(s, k) = nth(asked_, r).arrival;
        if (s > 0) own = max_of(own, head(s - 1, k) + length(s - 1, k) + hop(s - 1));
        if (k > first) own = max_of(own, head(s, k - 1) + length(s, k - 1));
      }
    for (int s = last; s >= 0; --s)
      for (int k = end; k-- > first;) {
        tick& own = tail(s, k);
        if (s < last) own = max_of(own, tail(s + 1, k) + length(s + 1, k) + hop(s));
        if (k + 1 < end) own = max_of(own, tail(s, k + 1) + length(s, k + 1));
      }
  }

  // The longest way through the request, or the time of a device for it.
  tick end_alone(int r) {
    int const k = nth(first_, r + 1) - 1, last = where_.stage_count() - 1;
    tick end = head(last, k) + length(last, k);
    for (std::vector<int> const& stages : stages_) {
      std::vector<job> jobs;
      add_passes(r, stages, 0, jobs);
      if (!jobs.empty()) end = max_of(end, longest(jobs));
    }
    return end;
  }

  // A request's passes on these stages. Tails count from `origin`.
  void add_passes(int r, std::vector<int> const& stages, tick origin, std::vector<job>& jobs) {
    for (int k = nth(first_, r); k < nth(first_, r + 1); ++k)
      for (int const s : stages) jobs.push_back({head(s, k), length(s, k), tail(s, k) - origin});
  }

  // All passes on these stages. For latencies, tails count from the request's arrival.
  std::vector<job> passes_on(std::vector<int> const& stages, bool of_latency) {
    std::vector<job> jobs;
    for (int r = 0; r < count_; ++r)
      add_passes(r, stages, of_latency ? nth(asked_, r).arrival : 0, jobs);
    return jobs;
  }

  // The least latency that all requests but `dropped` can keep to on a device's stages: of those that
  // arrive in some time, all but as many of the longest take their time after the first head.
  tick longest_but(std::size_t dropped, std::vector<int> const& stages) {
    struct arriving {
      tick arrival;
      job own;
    };
    std::vector<arriving> line;
    for (int r = 0; r < count_; ++r) line.push_back({nth(asked_, r).arrival, job_of(r, stages)});
    std::sort(line.begin(), line.end(),
              [](arriving const& a, arriving const& b) { return a.arrival < b.arrival; });
    auto const is_longer = [](tick a, tick b) { return a > b; };
    tick most = 0;
    for (std::size_t from = 0; from < line.size(); ++from) {
      std::vector<tick> longest_ones;  // a heap, the shortest on top
      tick work = 0, least_head = max_tick, least_tail = max_tick;
      for (std::size_t to = from; to < line.size(); ++to) {
        job const& own = line[to].own;
        least_head = min_of(least_head, own.head);
        least_tail = min_of(least_tail, own.tail);
        longest_ones.push_back(own.length);
        std::push_heap(longest_ones.begin(), longest_ones.end(), is_longer);
        if (longest_ones.size() <= dropped) continue;
        work += longest_ones.front();
        std::pop_heap(longest_ones.begin(), longest_ones.end(), is_longer);
        longest_ones.pop_back();
        most = max_of(most, least_head + work + least_tail - line[to].arrival);
      }
    }
    return most;
  }

  // All of a request on a device's stages.
  job job_of(int r, std::vector<int> const& stages) {
    int const first = nth(first_, r), last = nth(first_, r + 1) - 1;
    job own{head(stages.front(), first), 0, tail(stages.back(), last)};
    for (int k = first; k <= last; ++k)
      for (int const s : stages) own.length += length(s, k);
    return own;
  }

  // Raises the k-th end to that of a device on these of its stages. Returns the sum of the ends there,
  // with each request's own tail.
  tick raise(std::vector<tick>& ends, std::vector<int> const& stages) {
    std::vector<job> jobs;
    tick sum = 0, least_tail = max_tick;
    for (int r = 0; r < count_; ++r) {
      job const own = job_of(r, stages);
      sum = saturating_sum(sum, own.tail);
      least_tail = min_of(least_tail, own.tail);
      jobs.push_back(own);
    }
    std::vector<tick> const own_ends = shortest_first(jobs);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      ends[i] = max_of(ends[i], own_ends[i] + least_tail);
      sum = saturating_sum(sum, own_ends[i]);
    }
    return sum;
  }

  placement const& where_;
  request_list const& asked_;
  costs const& cost_;
  int count_ = static_cast<int>(asked_.size());
  std::vector<int> first_;
  std::vector<std::vector<int>> stages_;          // by device
  std::vector<std::vector<tick>> heads_, tails_;  // by stage and chunk; tails without the pass itself
};

}  // namespace ashlar::request_bound_detail

namespace ashlar {

ASHLAR_INLINE request_bounds request_bound(placement const& where, request_list const& asked,
                                           costs const& cost) {
  if (diagnosis const d = check(asked, where); !d.ok()) refuse(d);
  if (diagnosis const d =
          check(cost, where.stage_count(), where.device_count(), micro_batch_count(asked), 1);
      !d.ok())
    refuse(d);
  return request_bound_detail::bound_finder(where, asked, cost).find();
}

}  // namespace ashlar
