// Definitions of improve.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/optimize/iterated_local_search.hpp>
#include <ashlar/optimize/periodic_extension.hpp>
#include <ashlar/optimize/surrogate.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/schedule/tables.hpp>

#include <cstddef>
#include <utility>

namespace ashlar {

ASHLAR_INLINE bool is_within(schedule const& s, memory_limit const& limit) {
  must_have_form(s);
  if (diagnosis const d = check(limit.memory, s.stage_count(), s.micro_batch_count()); !d.ok())
    refuse(d);
  if (limit.budget.size() != 1 && static_cast<int>(limit.budget.size()) != s.device_count())
    refuse(wrong_size(table::device_budgets, limit.budget.size(), s.device_count()));
  std::vector<byte_count> const peaks = peak_memory(s, limit.memory);
  for (std::size_t d = 0; d < peaks.size(); ++d)
    if (peaks[d] > limit.budget_of(static_cast<int>(d))) return false;
  return true;
}

ASHLAR_INLINE bool has_delay_blocks(schedule const& s) {
  return is_chain(s.graph) && s.where.route_count() == 1 && s.mode == execution_mode::training;
}

ASHLAR_INLINE std::vector<candidate> improve_orders(justifier& search,
                                                    std::vector<schedule> const& seeds,
                                                    memory_limit const& limit, search_budget budget,
                                                    bool prunes) {
  for (schedule const& s : seeds)
    if (is_within(s, limit)) search.consider(s);
  for (int tries = 0; tries < 8; ++tries)
    for (schedule const& s : seeds)
      if (!search.is_over(8))
        search.justify(search.passes().orders_of(s),
                       tries == 0 ? justification_options{} : any_justification(search, tries));
  schedule const& s = search.of();
  std::vector<candidate> tops;
  if (!has_delay_blocks(s)) return tops;
  full_evaluation evaluate(search);
  evaluate({{one_at_a_time(s)}, justification_options{}});  // fits if anything does
  if (is_long(s)) {
    surrogate estimate(search, limit, budget);
    hill_climb(search, limit, estimate, 15, tops);
    for (candidate& k : tops) {
      estimate.extend(k);
      k.reached = evaluate(k);
    }
  }
  full_evaluation pruned(search, prunes);
  hill_climb(search, limit, pruned, 50, tops);
  return tops;
}

ASHLAR_INLINE bool can_be_improved(schedule const& s) {
  if (s.mode == execution_mode::inference || !s.work.empty() || s.where.moves()) return false;
  for (auto const& order : s.order)
    for (time_slot const& t : order)
      if (t.is_pair() || t.what.kind == pass_kind::recompute) return false;
  return true;
}

ASHLAR_INLINE std::vector<schedule> improved_within(std::vector<schedule> const& seeds,
                                                    memory_limit const& limit, search_budget budget) {
  if (seeds.empty()) refuse({.broken = rule::counts_are_positive});
  schedule first = squeeze(seeds[0]);
  bool const fits = is_within(first, limit);
  for (int d = 0; d < first.device_count(); ++d)  // a model that keeps nothing would not look at these
    if (limit.free_on(first.where, d) < 0) return {};
  tick busiest = 0;
  for (tick work : busy(first)) busiest = max_of(busiest, work);
  if (budget.aim == objective::span) budget.goal = max_of(budget.goal, busiest);
  bool const idles =
      budget.aim == objective::span ? span(first) > budget.goal : makespan(first) > busiest;
  if (fits && (budget.passes <= 0 || !idles)) return {first};
  justifier search(first, limit, budget);
  if (fits) search.consider(first);
  improve_orders(search, seeds, limit, budget);
  iterated_local_search(search);
  if (!search.found()) return {};
  schedule const found = search.result();
  schedule best = squeeze(found);
  if (budget.aim == objective::span && span(best) > span(found)) return {found};
  return {best};
}

ASHLAR_INLINE schedule improve(std::vector<schedule> const& seeds, memory_limit const& limit,
                               search_budget budget) {
  if (std::vector<schedule> found = improved_within(seeds, limit, budget); !found.empty())
    return std::move(found[0]);
  std::vector<byte_count> const peaks = peak_memory(seeds[0], limit.memory);
  diagnosis d{.broken = rule::memory_is_within_budget};
  for (int device = 0; device < seeds[0].device_count() && d.first.device < 0; ++device)
    if (nth(peaks, device) > limit.budget_of(device))
      d = {.broken = rule::memory_is_within_budget,
           .first = {.device = device},
           .number = nth(peaks, device)};
  refuse(d);
}

ASHLAR_INLINE schedule improve(schedule const& s, search_budget budget) {
  budget.aim = objective::both;
  schedule found = improve({s}, chunk_activations(peak_of_all(s)), budget);
  if (makespan(found) + 3 * span(found) >= makespan(s) + 3 * span(s)) return s;
  return found;
}

}  // namespace ashlar
