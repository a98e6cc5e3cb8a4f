// Definitions of offload_search.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/search/offload_search.hpp>
#include <ashlar/search/paged_order.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar::search_detail {

// What each device would hold if nothing ever left.
inline std::vector<byte_count> all_there_is(search_problem const& problem) {
  std::vector<byte_count> all;
  for (int d = 0; d < problem.where.device_count(); ++d) {
    byte_count sum = problem.limit.memory.resident_on(problem.where, d);
    for (int stage = 0; stage < problem.where.stage_count(); ++stage)
      for (int k = 0; k < problem.m.value * problem.sequence_chunks; ++k) {
        stage_memory const& own = problem.limit.memory.of(stage, k);
        if (problem.where.device_of(0, stage) == d)
          sum = saturating_sum(sum, saturating_sum(own.stash, own.weight_stash));
      }
    all.push_back(std::min(sum, max_tick - 1));
  }
  return all;
}

// Under limits from the given one up to `all`, evenly, the largest first: one for each stash that is too
// many, and at most 12.
inline std::vector<search_problem> with_more_memory(search_problem const& problem,
                                                    std::vector<byte_count> const& all) {
  constexpr byte_count most = 12;
  byte_count largest = 1, count = 1;
  for (stage_memory const& own : problem.limit.memory.stages) largest = std::max(largest, own.stash);
  for (std::size_t d = 0; d < all.size(); ++d) {
    byte_count const over = all[d] - problem.limit.budget_of(static_cast<int>(d));
    count = std::max(count, over / largest + (over % largest > 0 ? 1 : 0));
  }
  count = std::min(count, most);
  std::vector<search_problem> problems;
  for (byte_count step = count; step >= 1; --step) {
    search_problem more = problem;
    more.limit.budget.clear();
    for (std::size_t d = 0; d < all.size(); ++d) {
      byte_count const given = problem.limit.budget_of(static_cast<int>(d)),
                       over = std::max(all[d] - given, byte_count{0});
      more.limit.budget.push_back(given + over / count * step + over % count * step / count);
    }
    problems.push_back(std::move(more));
  }
  return problems;
}

// Under the given limit and somewhat less, but until its backward a stash counts with a part alone: what
// has left takes no memory then, and all of it from the backward on. So weight passes come early.
inline std::vector<search_problem> with_less_in_flight(search_problem const& problem) {
  std::vector<search_problem> problems;
  for (stage_memory const& own : problem.limit.memory.stages)
    if (own.recomputes() || own.stash_left != stage_memory::all) return problems;
  byte_count largest = 0;
  for (stage_memory const& own : problem.limit.memory.stages) largest = std::max(largest, own.stash);
  for (byte_count const part : {0, 4, 2})
    for (byte_count const less : {0, 1, 2}) {
      search_problem other = problem;
      for (stage_memory& own : other.limit.memory.stages) {
        byte_count const there = part == 0 ? 0 : own.stash / part;
        own.weight_stash = saturating_sum(own.weight_stash, own.stash - there);
        own.stash = there;
      }
      for (byte_count& budget : other.limit.budget) budget -= less * largest;
      problems.push_back(std::move(other));
    }
  return problems;
}

}  // namespace ashlar::search_detail

namespace ashlar {

ASHLAR_INLINE literal_optional<offloaded_schedule> search_offloaded(
    search_problem const& problem, host_link const& host, search_budget budget,
    search_result const* plain, search_watch watch, task_runner for_each_task) {
  // Copies may make do with less than a search without them.
  if (diagnosis const d = check(problem); !d.ok()) {
    bool lacks_room = d.broken == rule::parameter_is_at_least && d.which == parameter::memory_budget;
    for (byte_count const room : problem.limit.budget) lacks_room = lacks_room && room >= 0;
    if (!lacks_room) refuse(d);
  }
  std::vector<search_problem> problems =
      search_detail::with_more_memory(problem, search_detail::all_there_is(problem));
  search_start const most(problems[0]);
  for (search_problem& other : search_detail::with_less_in_flight(problem))
    problems.push_back(std::move(other));
  std::int64_t const half = std::max<std::int64_t>(budget.passes / 2, 1);
  budget.passes = std::max<std::int64_t>(half / static_cast<std::int64_t>(problems.size()), 1);
  bool is_found = false;
  offloaded_schedule found;
  found.least = most.least;
  auto const length = [&](schedule const& s) {
    tick const all = makespan(s), own = span(s);
    return budget.aim == objective::both ? all + 3 * own : budget.aim == objective::span ? own : all;
  };
  auto const offer = [&](schedule const& s, tick reached, offload_choice choice) {
    if (!choice.fits || (is_found && reached >= found.reached)) return;
    found.best = s;
    found.reached = reached;
    found.choice = std::move(choice);
    is_found = true;
  };
  std::vector<schedule> starts = most.seeds;
  auto const offer_result = [&](search_result const& result) {
    offer(result.best, result.reached, selective_offload(result.best, problem.limit, host));
    starts.push_back(result.best);
  };
  if (plain != nullptr) offer_result(*plain);
  for (search_problem const& other : problems)
    if (check(other).ok()) offer_result(search(other, budget, watch, for_each_task));
  // Passes may also wait for copies. What a program takes with messages on its links is not known here.
  if (budget.aim != objective::program && !starts.empty()) {
    paged_order const paging(starts[0], problem.limit, host);
    auto const passes = 1 + static_cast<std::int64_t>(pass_count(starts[0]));
    std::int64_t const moves = half / passes / static_cast<std::int64_t>(starts.size());
    std::vector<pass> away;
    for (schedule& s : starts) {
      if (!watch({}, 0)) break;
      if (improve_paged(paging, s, away, moves, budget.seed++, length))
        offer(s, length(s), offload_exactly(s, problem.limit, host, away));
    }
  }
  if (!is_found) return std::nullopt;
  return found;
}

}  // namespace ashlar
