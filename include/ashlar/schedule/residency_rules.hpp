// Rules that plan the residency of weights from the order of passes alone.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/schedule/residency.hpp>
#include <ashlar/schedule/tables.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// How a device's weights are planned.
struct residency_rule {
  int stages = 3;  // the most that are resident at once; pairs of two stages need two
  // With a window: how many different stages ahead of a pass weights are gathered, at most `stages`.
  int lookahead = 3;
  // Without: how many passes a gather should have ahead of the first pass that reads it.
  int passes_ahead = 0;
  bool window = true;

  friend constexpr bool operator==(residency_rule const&, residency_rule const&) = default;
};

namespace residency_detail {

// The passes of a device as requests for weights, and for each stage when it is read next.
class weight_requests {
 public:
  static constexpr int never = 2147483647;

  // Refers to the passes.
  constexpr weight_requests(list_view<timed_pass> passes, int stage_count)
      : passes_(passes),
        after_(passes.size(), never),
        next_(static_cast<std::size_t>(stage_count), never) {
    for (int i = size(); i-- > 0;) {
      if (!reads(i)) continue;
      nth(after_, i) = nth(next_, stage(i));
      nth(next_, stage(i)) = i;
    }
    for (int s = 0; s < stage_count; ++s)
      if (nth(next_, s) != never) stages_.push_back(s);
  }

  // The number of passes.
  constexpr int size() const { return static_cast<int>(passes_.size()); }
  // The stage of a pass.
  constexpr int stage(int i) const { return nth(passes_, i).what.stage; }
  // Whether a pass reads weights.
  constexpr bool reads(int i) const { return !is_part(nth(passes_, i).what); }
  // Whether a pass is the second of a pair.
  constexpr bool ends_pair(int i) const { return closes_pair(passes_, i); }
  // The next pass of a stage, from the pass on that was passed last.
  constexpr int next(int stage) const { return nth(next_, stage); }
  constexpr void pass_by(int i) {
    if (reads(i)) nth(next_, stage(i)) = nth(after_, i);
  }
  // The first `count` different stages that are read from now on, in that order. A pair is not cut: its
  // second stage may be one more.
  constexpr dynamic_array<int> coming(int count) const {
    dynamic_array<int> found = stages_;
    merge_sort(found, [&](int a, int b) { return next(a) < next(b); });
    int n = 0;
    for (int const stage : found) {
      bool const in_pair = n > 0 && ends_pair(next(stage)) && next(nth(found, n - 1)) == next(stage) - 1;
      if (next(stage) == never || n > count || (n == count && !in_pair)) break;
      ++n;
    }
    return {found.begin(), found.begin() + n};
  }

 private:
  list_view<timed_pass> passes_;
  dynamic_array<int> after_;   // by pass: the next one of its stage
  dynamic_array<int> next_;    // by stage
  dynamic_array<int> stages_;  // that are read
};

// Gives stays buffers, each the one that has been free longest.
constexpr void assign_buffers(std::vector<weight_stay>& stays) {
  dynamic_array<int> last;  // by buffer
  for (weight_stay& stay : stays) {
    std::size_t best = 0;
    for (std::size_t b = 1; b < last.size(); ++b)
      if (last[b] < last[best]) best = b;
    if (last.empty() || last[best] >= stay.fetch) {
      best = last.size();
      last.push_back(-1);
    }
    stay.buffer = static_cast<int>(best);
    last[best] = stay.last;
  }
}

// Before each pass, the next stages are kept and gathered, and all others given up.
constexpr std::vector<weight_stay> window_stays(weight_requests requests, int stage_count,
                                                residency_rule const& rule) {
  std::vector<weight_stay> stays;
  dynamic_array<int> stay_of(static_cast<std::size_t>(stage_count), -1);  // of resident stages
  dynamic_array<int> resident;
  for (int i = 0; i < requests.size(); ++i) {
    if (requests.reads(i) && !requests.ends_pair(i)) {
      dynamic_array<int> const kept = requests.coming(rule.stages);
      auto const is_kept = [&](int stage) {
        for (int const other : kept)
          if (other == stage) return true;
        return false;
      };
      for (int const stage : resident)
        if (!is_kept(stage)) nth(stay_of, stage) = -1;
      for (int const stage : requests.coming(rule.lookahead))
        if (nth(stay_of, stage) < 0) {
          nth(stay_of, stage) = static_cast<int>(stays.size());
          stays.push_back({stage, 0, i, i});
        }
      resident = kept;
    }
    if (requests.reads(i)) nth(stays, nth(stay_of, requests.stage(i))).last = i;
    requests.pass_by(i);
  }
  assign_buffers(stays);
  return stays;
}

// A stage that is missing takes the place of the one that is read furthest in the future, of those that
// were read last so early that the gather has passes to run beside.
constexpr std::vector<weight_stay> furthest_stays(weight_requests requests, residency_rule const& rule) {
  std::vector<weight_stay> stays;
  dynamic_array<int> held(static_cast<std::size_t>(rule.stages), -1);  // stays by buffer
  int earliest = 0;  // gathers stand in the order of need
  for (int i = 0; i < requests.size(); ++i) {
    if (!requests.reads(i)) continue;
    int const stage = requests.stage(i);
    int own = -1;
    for (std::size_t b = 0; b < held.size(); ++b)
      if (held[b] >= 0 && nth(stays, held[b]).stage == stage) own = held[b];
    if (own < 0) {
      auto const last = [&](std::size_t b) { return held[b] < 0 ? -1 : nth(stays, held[b]).last; };
      auto const next = [&](std::size_t b) {
        return held[b] < 0 ? weight_requests::never : requests.next(nth(stays, held[b]).stage);
      };
      int first = last(0);
      for (std::size_t b = 1; b < held.size(); ++b) first = min_of(first, last(b));
      int const needed = requests.ends_pair(i) ? i - 1 : i;
      int const until = max_of(first, needed - 1 - rule.passes_ahead);
      std::size_t best = held.size();
      for (std::size_t b = 0; b < held.size(); ++b) {
        if (last(b) > until) continue;
        if (best == held.size() || next(b) > next(best)
            || (next(b) == next(best) && last(b) < last(best)))
          best = b;
      }
      int fetch = max_of(earliest, last(best) + 1);
      if (fetch > earliest && fetch < i && requests.ends_pair(fetch)) ++fetch;
      earliest = fetch;
      own = held[best] = static_cast<int>(stays.size());
      stays.push_back({stage, static_cast<int>(best), fetch, i});
    }
    nth(stays, own).last = i;
    requests.pass_by(i);
  }
  return stays;
}

}  // namespace residency_detail

// The stays on a device by a rule. With a window, it is that of PyTorch's
// torch.distributed.pipelining.schedules._add_unshard_reshard, whose max_active_stages is `stages` and
// whose unshard_lookahead is `lookahead`. Without, it replaces what is read furthest in the future
// (Belady, 1966), delayed as by Albers and Büttner (Integrated prefetching and caching in single and
// parallel disk systems, 2005). Less than one stage counts as one. O(passes stages log stages).
constexpr std::vector<weight_stay> planned_stays(schedule const& s, int device, residency_rule rule) {
  rule.stages = max_of(1, min_of(rule.stages, s.stage_count()));
  rule.lookahead = max_of(1, min_of(rule.lookahead, rule.stages));
  rule.passes_ahead = max_of(0, rule.passes_ahead);
  dynamic_array<timed_pass> const passes = numbered_passes(nth(s.order, device));
  residency_detail::weight_requests const requests(view_of(passes), s.stage_count());
  if (rule.window) return residency_detail::window_stays(requests, s.stage_count(), rule);
  return residency_detail::furthest_stays(requests, rule);
}

// Plans each device by the same rule. Throws violation: check_form(s). Linear in devices and in what
// planned_stays() takes.
constexpr residency planned_residency(schedule const& s, residency_rule const& rule) {
  must_have_form(s);
  residency made;
  for (int d = 0; d < s.device_count(); ++d) made.stays.push_back(planned_stays(s, d, rule));
  return made;
}

}  // namespace ashlar
