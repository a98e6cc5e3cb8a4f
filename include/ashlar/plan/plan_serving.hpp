// Assigns layers to devices and bit widths so that both phases together take the least, under a limit
// on each device's memory.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/plan/serving.hpp>
#include <ashlar/plan/serving_bounds.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// The exact search. A partial plan of the first layers on the first devices matters by three numbers:
// its sum of times and penalties, and its slowest device in each phase. One is left out if another with
// as many layers and devices is no worse in any of them, or if with the bounds for what is missing it
// passes `most`. The same holds layer by layer within a device, with the memory as a fourth number.
class serving_search {
 public:
  constexpr serving_search(serving_problem const& problem, serving_bounds const& bounds)
      : problem_(problem), bounds_(bounds), p_(problem.device_count()), count_(problem.layer_count()) {}

  // The best plan whose objective is no more than `most`; none has no devices.
  constexpr serving_plan run(tick most) {
    most_ = most;
    made_.clear();
    joined_.clear();
    finished_ = std::vector<dynamic_array<label>>(static_cast<std::size_t>(count_) + 1);
    finished_[0].push_back({});
    for (int d = 0; d < p_; ++d) advance(d);
    serving_plan plan;
    for (label const& l : finished_.back())
      if (plan.device.empty() || objective(l, {0, 0, 0}) < plan.objective) plan = plan_of(l);
    return plan;
  }

 private:
  // Of finished devices, or within one: then `slowest` are its own times.
  struct label {
    tick sum = 0;
    phase_times slowest = {0, 0};
    byte_count memory = 0;
    int step = -1;  // the last choice that led here
  };
  struct choice_made {
    int before = -1;
    int device = 0, width = 0;
  };

  static constexpr bool is_no_worse(label const& a, label const& b) {
    return a.sum <= b.sum && a.slowest.prefill <= b.slowest.prefill
           && a.slowest.decode <= b.slowest.decode && a.memory <= b.memory;
  }
  static constexpr void keep_best(dynamic_array<label>& all) {
    merge_sort(all, [](label const& a, label const& b) {
      if (a.sum != b.sum) return a.sum < b.sum;
      if (a.slowest.decode != b.slowest.decode) return a.slowest.decode < b.slowest.decode;
      if (a.slowest.prefill != b.slowest.prefill) return a.slowest.prefill < b.slowest.prefill;
      return a.memory < b.memory;
    });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      bool is_best = true;
      for (std::size_t k = 0; k < kept && is_best; ++k) is_best = !is_no_worse(all[k], all[i]);
      if (is_best) all[kept++] = all[i];
    }
    while (all.size() > kept) all.pop_back();
  }

  constexpr tick objective(label const& l, serving_bound const& rest) const {
    two_phase const& shape = problem_.shape;
    tick const prefill = max_of(l.slowest.prefill, rest.prefill),
               decode = max_of(l.slowest.decode, rest.decode);
    return l.sum + rest.sum + (shape.prefills - 1) * prefill
           + (shape.groups - 1) * tick{shape.tokens} * decode;
  }
  constexpr bool may_pass(label const& l, serving_bound const& rest) const {
    return rest.is_possible() && objective(l, rest) <= most_;
  }

  // From plans of the devices before `device` to those that include it.
  constexpr void advance(int device) {
    std::vector<dynamic_array<label>> next(finished_.size());
    bool const may_be_empty = device > 0 && device < p_ - 1;
    for (int from = 0; from < count_; ++from) {
      dynamic_array<label> const& starts = nth(finished_, from);
      if (starts.empty()) continue;
      if (may_be_empty)
        for (label const& l : starts)
          if (may_pass(l, bounds_.after(device + 1, from))) nth(next, from).push_back(l);
      fill(device, from, starts, next);
    }
    for (dynamic_array<label>& each : next) keep_best(each);
    finished_ = std::move(next);
  }

  // Puts layers from `from` on the device, one after the other. Choices within a device do not depend on
  // how the devices before it were filled, so they are made once for all of those.
  constexpr void fill(int device, int from, dynamic_array<label> const& starts,
                      std::vector<dynamic_array<label>>& next) {
    serving_bound const& before = bounds_.before(device, from);
    byte_count const limit = nth(problem_.limit, device);
    dynamic_array<label> within;
    within.push_back({});
    for (int layer = from; layer < count_ && !within.empty(); ++layer) {
      std::vector<layer_variant> const& widths = problem_.of(device, layer);
      dynamic_array<label> more;
      serving_bound const rest =
          together(before, bounds_.after(device, layer + 1), bounds_.after(device + 1, layer + 1));
      for (label const& l : within)
        for (std::size_t w = 0; w < widths.size(); ++w) {
          layer_variant const& v = widths[w];
          label const longer{l.sum + v.sum().cost(),
                             {l.slowest.prefill + v.times.prefill, l.slowest.decode + v.times.decode},
                             l.memory + v.memory,
                             static_cast<int>(made_.size())};
          if (longer.memory > limit || !may_pass(longer, rest)) continue;
          made_.push_back({l.step, device, static_cast<int>(w)});
          more.push_back(longer);
        }
      keep_best(more);
      within = std::move(more);
      finish(starts, within, bounds_.after(device + 1, layer + 1),
             next[static_cast<std::size_t>(layer) + 1]);
    }
  }

  // What is before a device, and what comes after a layer on the same device or on the next.
  static constexpr serving_bound together(serving_bound const& before, serving_bound const& here,
                                          serving_bound const& there) {
    if (!before.is_possible() || (!here.is_possible() && !there.is_possible())) return {};
    return {before.sum + min_of(here.sum, there.sum),
            max_of(before.prefill, min_of(here.prefill, there.prefill)),
            max_of(before.decode, min_of(here.decode, there.decode))};
  }

  constexpr void finish(dynamic_array<label> const& starts, dynamic_array<label> const& within,
                        serving_bound const& rest, dynamic_array<label>& into) {
    for (label const& start : starts)
      for (label const& l : within) {
        label const done{start.sum + l.sum,
                         {max_of(start.slowest.prefill, l.slowest.prefill),
                          max_of(start.slowest.decode, l.slowest.decode)},
                         0,
                         static_cast<int>(joined_.size())};
        if (!may_pass(done, rest)) continue;
        joined_.push_back({start.step, l.step});
        into.push_back(done);
      }
  }

  constexpr serving_plan plan_of(label const& l) const {
    serving_plan plan;
    plan.objective = objective(l, {0, 0, 0});
    for (int at = l.step; at >= 0; at = nth(joined_, at).before)
      for (int step = nth(joined_, at).stage; step >= 0; step = nth(made_, step).before) {
        plan.device.push_back(nth(made_, step).device);
        plan.width.push_back(nth(made_, step).width);
      }
    reverse(plan.device);
    reverse(plan.width);
    return plan;
  }

  struct joined {
    int before = -1;  // the devices before
    int stage = -1;   // the last choice on the last of them
  };

  serving_problem const& problem_;
  serving_bounds const& bounds_;
  int p_, count_;
  tick most_ = 0;
  std::vector<dynamic_array<label>> finished_;  // by number of layers
  dynamic_array<choice_made> made_;
  dynamic_array<joined> joined_;
};

// The device that is short, and of how much, if nothing fits.
constexpr serving_plan why_nothing_fits(serving_problem const& problem) {
  int const p = problem.device_count(), count = problem.layer_count();
  auto const smallest = [&](int device, int layer) {
    byte_count least = max_tick;
    for (layer_variant const& v : problem.of(device, layer)) least = min_of(least, v.memory);
    return least;
  };
  serving_plan none;
  int layer = 0;
  for (int d = 0; d < p; ++d) {
    byte_count used = 0;
    bool const is_last = d == p - 1;
    int const first = layer;
    while (layer < (is_last ? count : count - 1)) {
      byte_count const more = smallest(d, layer);
      bool const has_to = is_last || (d == 0 && layer == first);
      if (!has_to && used + more > nth(problem.limit, d)) break;
      used += more;
      ++layer;
    }
    if (byte_count const missing = used - nth(problem.limit, d); missing > 0) {
      none.short_device = d;
      none.missing = missing;
      return none;
    }
  }
  return none;
}

// The plan of the least objective; if nothing fits, the reason. The search is repeated with a higher
// `most` until it finds one: from the bound of the whole on, each time twice as far above it. Exact:
// what a search leaves out passes `most` or is no better than what it keeps. (LLM-PQ states the same as
// an integer programme, section 4.2.) Throws violation with check(problem).
constexpr serving_plan plan_serving(serving_problem const& problem) {
  if (diagnosis const d = check(problem); !d.ok()) refuse(d);
  serving_bounds const bounds(problem);
  serving_bound const& all = bounds.after(0, 0);
  if (!all.is_possible()) return why_nothing_fits(problem);
  two_phase const& shape = problem.shape;
  tick const least = all.sum + (shape.prefills - 1) * all.prefill
                     + (shape.groups - 1) * tick{shape.tokens} * all.decode;
  for (tick above = least / 256;; above = 2 * above + 1) {
    serving_plan const plan = serving_search(problem, bounds).run(saturating_sum(least, above));
    if (!plan.device.empty()) return plan;
  }
}

}  // namespace ashlar
