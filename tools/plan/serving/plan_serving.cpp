#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/plan/serving/plan_serving.hpp>

#include <cstddef>
#include <utility>

namespace ashlar {

serving_plan serving_search::run(tick most) {
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

void serving_search::keep_best(dynamic_array<label>& all) {
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

tick serving_search::objective(label const& l, serving_bound const& rest) const {
  two_phase const& shape = problem_.shape;
  tick const prefill = max_of(l.slowest.prefill, rest.prefill),
             decode = max_of(l.slowest.decode, rest.decode);
  return l.sum + rest.sum + (shape.prefills - 1) * prefill
         + (shape.groups - 1) * tick{shape.tokens} * decode;
}

void serving_search::advance(int device) {
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

void serving_search::fill(int device, int from, dynamic_array<label> const& starts,
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

serving_bound serving_search::together(serving_bound const& before, serving_bound const& here,
                                       serving_bound const& there) {
  if (!before.is_possible() || (!here.is_possible() && !there.is_possible())) return {};
  return {before.sum + min_of(here.sum, there.sum),
          max_of(before.prefill, min_of(here.prefill, there.prefill)),
          max_of(before.decode, min_of(here.decode, there.decode))};
}

void serving_search::finish(dynamic_array<label> const& starts, dynamic_array<label> const& within,
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

serving_plan serving_search::plan_of(label const& l) const {
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

serving_plan why_nothing_fits(serving_problem const& problem) {
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

serving_plan plan_serving(serving_problem const& problem) {
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
