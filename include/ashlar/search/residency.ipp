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
      : s_(s), how_(how), o_(o), limit_(limit) {}

  residency_choice run() {
    std::vector<std::vector<stay_list>> of_device(s_.order.size());  // without repetitions
    for (residency_rule const& rule : rules()) {
      residency plan = planned_residency(s_, rule);
      for (std::size_t d = 0; d < of_device.size(); ++d)
        if (std::find(of_device[d].begin(), of_device[d].end(), plan.stays[d]) == of_device[d].end())
          of_device[d].push_back(plan.stays[d]);
      offer(std::move(plan));
    }
    for (bool is_better = true; is_better;) {
      is_better = false;
      for (std::size_t d = 0; d < of_device.size(); ++d)
        for (stay_list const& other : of_device[d]) {
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

  std::vector<residency_rule> rules() const {
    std::size_t chunks = 1;
    for (int d = 0; d < s_.device_count(); ++d) chunks = std::max(chunks, stages_on(s_.where, d).size());
    std::vector<residency_rule> all;
    for (int count = std::min(limit_.stages, static_cast<int>(chunks)); count >= 1; --count) {
      for (int lookahead = count; lookahead >= 1; --lookahead)
        all.push_back({.stages = count, .lookahead = lookahead});
      for (int ahead = 0; ahead <= 64; ahead = ahead == 0 ? 1 : 2 * ahead)
        all.push_back({.stages = count, .passes_ahead = ahead, .window = false});
    }
    return all;
  }

  // Takes a plan if it is better than the best; whether it is.
  bool offer(residency plan) {
    residency_choice made = simulated_residency(s_, how_, o_, std::move(plan), limit_.budgets);
    if (!best_.weights.empty()
        && (made.excess != best_.excess ? made.excess > best_.excess
            : made.makespan != best_.makespan
                ? made.makespan > best_.makespan
                : made.weights.gather_count() >= best_.weights.gather_count()))
      return false;
    best_ = std::move(made);
    return true;
  }

  schedule const& s_;
  lower_options const& how_;
  simulation_options const& o_;
  residency_limit const& limit_;
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
    if (!budgets.empty())
      made.excess += std::max<byte_count>(
          0, m.peak - std::max<byte_count>(0, budgets[budgets.size() == 1 ? 0 : made.peak.size()]));
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
