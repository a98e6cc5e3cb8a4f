// Definitions of micro_batch_order.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/search/micro_batch_order.hpp>
#include <ashlar/search/place_search.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ashlar {

ASHLAR_INLINE ordered_micro_batches order_micro_batches(schedule const& s, order_budget const& budget,
                                                        memory_limit const* limit) {
  must_have_form(s);
  if (s.graph.sequence_chunks() != 1 || s.graph.has_sizes())
    refuse({.broken = rule::tables_agree, .number = s.graph.sequence_chunks()});
  if (int const m = s.cost.passes.micro_batches(); m != 0 && m != s.micro_batch_count())
    refuse(wrong_size(table::micro_batch_costs, m, s.micro_batch_count()));
  for (std::size_t d = 0; d < s.order.size(); ++d)
    for (std::size_t i = 0; i < s.order[d].size(); ++i)
      if (s.order[d][i].is_pair())
        refuse({.broken = rule::overlapped_passes_are_a_pair,
                .first = {.device = static_cast<int>(d),
                          .index = static_cast<int>(i),
                          .what = s.order[d][i].what}});
  if (s.micro_batch_count() == 0) refuse({.broken = rule::counts_are_positive});
  if (limit != nullptr)
    if (diagnosis const d = check(limit->memory, s.stage_count(), s.micro_batch_count()); !d.ok())
      refuse(d);
  ordered_micro_batches found = search_detail::place_search(s, budget, limit).run();
  if (diagnosis const d = check(found.best); !d.ok()) refuse(d);
  return found;
}

ASHLAR_INLINE std::vector<int> order_for(search_problem const& problem, order_budget const& budget) {
  constexpr std::size_t tried = 3;
  if (problem.cost.passes.micro_batches() == 0) return {};
  std::vector<schedule> seeds;
  for (schedule& s : seeds_of(problem))
    if (problem.limit.memory.micro_batches != 0 || is_within(s, problem.limit))
      seeds.push_back(std::move(s));
  auto const time_of = [&](schedule const& s) {
    return budget.aim == objective::span ? span(s) : makespan(s);
  };
  std::stable_sort(seeds.begin(), seeds.end(),
                   [&](schedule const& a, schedule const& b) { return time_of(a) < time_of(b); });
  if (seeds.size() > tried) seeds.resize(tried);
  order_budget share = budget;
  share.evaluations /= static_cast<std::int64_t>(tried);
  tick best = max_tick;  // to be passed
  for (schedule const& s : seeds) best = std::min(best, time_of(s));
  std::vector<int> order;
  for (schedule const& s : seeds) {
    ordered_micro_batches found = order_micro_batches(s, share, &problem.limit);
    if (found.reached >= best) continue;
    best = found.reached;
    order = std::move(found.order);
  }
  return order;
}

}  // namespace ashlar
