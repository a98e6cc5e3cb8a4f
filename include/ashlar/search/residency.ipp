// Definitions of residency.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/search/residency.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ashlar::search_detail {

// Plans of one schedule, and the best so far.
class residency_search {
 public:
  // Refers to its arguments.
  residency_search(schedule const& s, lower_options const& how, simulation_options const& o,
                   residency_limit const& limit)
      : s_(s), how_(how), o_(o), limit_(limit) {
    for (int d = 0; d < s.device_count(); ++d) stays_.push_back(stays_on(d));
  }

  residency_choice run() {
    std::size_t most = 0;
    for (auto const& of_device : stays_) most = std::max(most, of_device.size());
    for (std::size_t rule = 0; rule < most; ++rule) {
      residency plan;
      for (auto const& of_device : stays_)
        plan.stays.push_back(of_device[std::min(rule, of_device.size() - 1)]);
      offer(std::move(plan));
    }
    for (bool is_better = true; is_better;) {
      is_better = false;
      for (std::size_t d = 0; d < stays_.size(); ++d)
        for (auto const& other : stays_[d]) {
          if (other == best_.weights.stays[d]) continue;
          residency plan = best_.weights;
          plan.stays[d] = other;
          is_better |= offer(std::move(plan));
        }
    }
    return std::move(best_);
  }

 private:
  using stay_list = std::vector<weight_stay>;

  // The stays of a device by each rule, PyTorch's first, without repetitions.
  std::vector<stay_list> stays_on(int device) const {
    int const most = std::max(1, std::min(limit_.stages, chunk_count(device)));
    std::vector<stay_list> found;
    auto const add = [&](residency_rule const& rule) {
      stay_list made = planned_stays(s_, device, rule);
      if (std::find(found.begin(), found.end(), made) == found.end()) found.push_back(std::move(made));
    };
    for (int count = most; count >= 1; --count) {
      for (int lookahead = count; lookahead >= 1; --lookahead)
        add({.stages = count, .lookahead = lookahead});
      for (int ahead = 0; ahead <= 64; ahead = ahead == 0 ? 1 : 2 * ahead)
        add({.stages = count, .passes_ahead = ahead, .window = false});
    }
    return found;
  }
  int chunk_count(int device) const {
    return static_cast<int>(ashlar::stages_on(s_.where, device).size());
  }

  // By how much devices exceed their budgets.
  static byte_count excess(residency_choice const& c, std::vector<byte_count> const& budgets) {
    byte_count all = 0;
    for (std::size_t d = 0; d < c.peak.size() && !budgets.empty(); ++d)
      all += std::max<byte_count>(0, c.peak[d] - budgets[budgets.size() == 1 ? 0 : d]);
    return all;
  }

  // Takes a plan if it is better than the best; whether it is.
  bool offer(residency plan) {
    residency_choice made = simulated_residency(s_, how_, o_, std::move(plan), limit_.budgets);
    byte_count const too_much = excess(made, limit_.budgets), before = excess(best_, limit_.budgets);
    std::size_t const gathers = made.weights.gather_count();
    if (!best_.weights.empty()
        && (too_much != before                ? too_much > before
            : made.makespan != best_.makespan ? made.makespan > best_.makespan
                                              : gathers >= best_.weights.gather_count()))
      return false;
    best_ = std::move(made);
    return true;
  }

  schedule const& s_;
  lower_options const& how_;
  simulation_options const& o_;
  residency_limit const& limit_;
  std::vector<std::vector<stay_list>> stays_;  // by device
  residency_choice best_;
};

}  // namespace ashlar::search_detail

namespace ashlar {

ASHLAR_INLINE residency_choice simulated_residency(schedule const& s, lower_options const& how,
                                                   simulation_options const& o, residency weights,
                                                   std::vector<byte_count> const& budgets) {
  lower_options planned = how;
  planned.weights = weights;
  simulation const run = simulate(lower(s, planned), o);
  residency_choice made{.weights = std::move(weights), .makespan = run.makespan()};
  for (device_memory const& m : run.memory) {
    byte_count const limit =
        budgets.empty() ? m.peak : budgets[budgets.size() == 1 ? 0 : made.peak.size()];
    made.fits = made.fits && m.peak <= limit;
    made.peak.push_back(m.peak);
  }
  return made;
}

ASHLAR_INLINE residency_choice choose_residency(schedule const& s, lower_options const& how,
                                                simulation_options const& o,
                                                residency_limit const& limit) {
  if (diagnosis const d = at_least(parameter::weight_buffer_count, limit.stages, 1); !d.ok()) refuse(d);
  if (std::size_t const n = limit.budgets.size(); n > 1 && n != s.order.size())
    refuse(wrong_size(table::device_budgets, n, static_cast<std::int64_t>(s.order.size())));
  return search_detail::residency_search(s, how, o, limit).run();
}

}  // namespace ashlar
