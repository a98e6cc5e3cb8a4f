// Lower bounds on the starts of a workload's passes.
#pragma once

#include <ashlar/bounds/flow.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar::bounding_detail {

// No time at all: there is no bound on how early a pass starts.
inline constexpr tick any_time = -max_tick;

// The later of two ticks; and the end of what starts then and takes `length`, where any_time stays
// any_time.
constexpr tick later(tick a, tick b) { return a > b ? a : b; }
constexpr tick after(tick start, tick length) { return start == any_time ? any_time : start + length; }

// Lower bounds on starts, in two tables that sharpen each other:
//
// * by step, stage and micro-batch. W.l.o.g. FIFO: relabel the i-th start as micro-batch i; sorted
//   starts still satisfy dependencies;
// * by device and step: the i-th time that a device takes a step, for any stage. A step on a stage has
//   known predecessors of its own kind on its device, so its place among them is at least i. The i-th
//   time that a device takes memory comes after the (i - limit)-th time that it gave memory back.
//
// A start is no earlier than inputs, places and memory allow. Nor is it earlier than the device can
// have done what must come before it: for any time h, everything of that which starts at h or later.
class earliest_starts {
 public:
  static constexpr int whole = -1;

  // Counts from the first start on the device `origin`, and other devices may start before; or for
  // `whole` no pass starts before 0. O(rounds * n log(chunks of a device)) for n passes.
  constexpr earliest_starts(flow const& f, int origin) : f_(f), origin_(origin) {
    constexpr int rounds = 8;
    auto const K = static_cast<std::size_t>(f.step_count());
    starts_.assign(K * static_cast<std::size_t>(f.stage_count() * f.most_micro_batches), any_time);
    places_.resize(K * static_cast<std::size_t>(f.device_count()));
    for (int round = 0; round < rounds; ++round) {
      if (!sharpen_starts()) break;
      for (int d = 0; d < f.device_count(); ++d)
        if (!f.on(d).empty()) find_places(d);
    }
  }

  // The earliest start of step k of a stage for a micro-batch, in ticks.
  constexpr tick start(int k, int stage, int micro_batch) const {
    return starts_[index(k, stage, micro_batch)];
  }
  // The starts of the device's n-th step k, for n = 0 .. count_on(device) - 1. Ascending.
  constexpr std::vector<tick> const& places(int k, int device) const {
    return places_[place_index(k, device)];
  }

 private:
  constexpr std::size_t index(int k, int stage, int j) const {
    return static_cast<std::size_t>((k * f_.stage_count() + stage) * f_.most_micro_batches + j);
  }
  constexpr std::size_t place_index(int k, int d) const {
    return static_cast<std::size_t>(d * f_.step_count() + k);
  }
  constexpr tick end(int k, int stage, int j) const {
    return after(start(k, stage, j), f_.length(k, stage));
  }

  // Whether anything became later.
  constexpr bool sharpen_starts() {
    bool changed = false;
    int const S = f_.stage_count();
    for (int j = 0; j < f_.most_micro_batches; ++j)
      for (int k = 0; k < f_.step_count(); ++k)
        for (int i = 0; i < S; ++i) {
          int const stage = f_.direction(k) < 0 ? S - 1 - i : i;
          if (j >= f_.micro_batches_of(stage)) continue;
          tick const found = sharper_start(k, stage, j);
          tick& known = starts_[index(k, stage, j)];
          changed = changed || found > known;
          known = later(known, found);
        }
    return changed;
  }

  constexpr tick sharper_start(int k, int stage, int j) const {
    int const d = f_.device_of(stage), limit = nth(f_.limit, d);
    tick t = origin_ == whole || origin_ == d ? 0 : any_time;
    if (j > 0) t = later(t, end(k, stage, j - 1));
    if (k > 0) t = later(t, end(k - 1, stage, j));
    if (k == f_.takes && j >= limit) t = later(t, end(f_.gives, stage, j - limit));
    if (f_.sequence_chunks > 1) t = later(t, turn(k, stage, j));
    int const before = f_.before(k, stage);
    if (before >= 0)
      t = later(t, after(end(k, before, j), nth(nth(f_.steps, k).hop, max_of(stage, before))));
    std::vector<tick> const& known = places_[place_index(k, d)];
    if (known.empty()) return t;
    // It comes after everything before it on its own stage and on those that it comes through.
    int const place = j + f_.chunks_before(k, stage) * (j + 1);
    return later(t, nth(known, place));
  }

  // Sequences turn at the last stage when all of their chunks have come: before a stage's j-th step
  // back, as many sequences as take part in the first j + 1 of these have taken all of their steps
  // there.
  constexpr tick turn(int k, int stage, int j) const {
    int const all_of_it = (j / f_.sequence_chunks + 1) * f_.sequence_chunks - 1;
    tick t = any_time;
    for (int there = 0; there < k; ++there)
      if (f_.direction(k) != 0 && f_.direction(there) == -f_.direction(k))
        t = later(t, end(there, stage, all_of_it));
    return t;
  }

  // The starts of all of a device's steps k, or the ends, in ascending order: the stages' lists, which
  // ascend, merged in pairs. O(n log(chunks)) for n of them.
  constexpr std::vector<tick> merged(int k, int d, bool ends) const {
    std::vector<tick> all, next;
    auto const n = static_cast<std::size_t>(f_.count_on(d));
    all.reserve(n);
    std::vector<std::size_t> runs(1, 0), fewer;  // where lists begin, and the end
    for (int stage : f_.on(d)) {
      for (int j = 0; j < f_.micro_batches_of(stage); ++j)
        all.push_back(ends ? end(k, stage, j) : start(k, stage, j));
      runs.push_back(all.size());
    }
    while (runs.size() > 2) {
      next.clear();
      next.reserve(n);
      fewer.assign(1, 0);
      for (std::size_t i = 0; i + 1 < runs.size(); i += 2) {
        std::size_t const middle = runs[i + 1], last = runs[min_of(i + 2, runs.size() - 1)];
        std::size_t a = runs[i], b = middle;
        while (a < middle || b < last)
          next.push_back(b == last || (a < middle && all[a] <= all[b]) ? all[a++] : all[b++]);
        fewer.push_back(last);
      }
      all.swap(next);
      runs.swap(fewer);
    }
    return all;
  }

  // Sorted lists obey what their members obey in pairs. Which stage has a place is unknown: a place
  // takes as long as the shortest.
  constexpr void find_places(int d) {
    int const K = f_.step_count(), n = f_.count_on(d);
    int const limit = nth(f_.limit, d);
    std::vector<std::vector<tick>> ends;
    std::vector<tick> length;
    for (int k = 0; k < K; ++k) {
      places_[place_index(k, d)] = merged(k, d, false);
      ends.push_back(merged(k, d, true));
      length.push_back(f_.least_length(k, d));
    }
    std::vector<busy_time> busy(static_cast<std::size_t>(K));
    for (busy_time& b : busy) b.done.assign(static_cast<std::size_t>(K), 0);
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < K; ++k) {
        auto const at = static_cast<std::size_t>(i), step = static_cast<std::size_t>(k);
        tick& found = places_[place_index(k, d)][at];
        if (i > 0) found = later(found, ends[step][at - 1]);
        if (k > 0) found = later(found, ends[step - 1][at]);
        int const given_back = i < limit ? 0 : i + 1 - limit;
        if (k == f_.takes && given_back > 0)
          found = later(found, nth(nth(ends, f_.gives), given_back - 1));
        for (int other = 0; other < K; ++other)
          take_up_to(done_before(other, k, i, given_back), other, d, length, busy[step]);
        look_for_idle_time(d, length, busy[step]);
        found = later(found, busy[step].until);
        ends[step][at] = later(ends[step][at], after(found, length[step]));
      }
  }

  // How often a device has taken the step `other` before it takes step k for the (i + 1)-th time, if the
  // i-th after the limit needs `given_back` returns of memory.
  constexpr int done_before(int other, int k, int i, int given_back) const {
    if (other <= k) return other < k ? i + 1 : i;
    return k >= f_.takes && other <= f_.gives ? given_back : 0;
  }

  // The state when a device can have taken each step k done[k] times: its time is full at least between
  // `since` and `until`.
  struct busy_time {
    tick since = any_time, until = any_time;
    tick work = 0;  // all that is done, also before `since`
    std::vector<int> done;
  };

  constexpr tick place(int k, int d, int n) const { return nth(places_[place_index(k, d)], n); }

  // Adds the steps up to `count` that are not done yet.
  constexpr void take_up_to(int count, int k, int d, std::vector<tick> const& length,
                            busy_time& busy) const {
    auto const step = static_cast<std::size_t>(k);
    for (int& n = busy.done[step]; n < count; ++n) {
      busy.work += length[step];
      if (busy.until != any_time && place(k, d, n) >= busy.since) busy.until += length[step];
    }
  }

  // Whether the last passes alone take until later, because the device had to wait for them. A few are
  // enough: an idle time is found when the first pass after it comes.
  constexpr void look_for_idle_time(int d, std::vector<tick> const& length, busy_time& busy) {
    int const K = f_.step_count();
    left_ = busy.done;
    tick work = 0;
    for (int looked_at = 0; looked_at < K; ++looked_at) {
      int last = K;
      tick latest = any_time;
      for (int k = 0; k < K; ++k) {
        int const n = nth(left_, k);
        if (n == 0 || place(k, d, n - 1) <= latest) continue;
        latest = place(k, d, n - 1);
        last = k;
      }
      if (last == K || latest + busy.work <= busy.until) return;
      work += nth(length, last);
      --nth(left_, last);
      if (latest + work > busy.until) {
        busy.since = latest;
        busy.until = latest + work;
      }
    }
  }

  flow const& f_;
  int origin_;
  std::vector<tick> starts_;               // by step, stage, micro-batch
  std::vector<std::vector<tick>> places_;  // by device, step, place
  std::vector<int> left_;                  // while looking for idle time
};

}  // namespace ashlar::bounding_detail
