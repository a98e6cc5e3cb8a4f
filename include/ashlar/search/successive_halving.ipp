// Definitions of successive_halving.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/core/splitmix.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/optimize/beam_search.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/optimize/iterated_local_search.hpp>
#include <ashlar/optimize/modulo_search.hpp>
#include <ashlar/optimize/periodic_extension.hpp>
#include <ashlar/optimize/tabu_search.hpp>
#include <ashlar/search/successive_halving.hpp>

#include <utility>

namespace ashlar {

ASHLAR_INLINE void seeded_search::start(std::vector<schedule> const& seeds, bool prunes) {
  constexpr std::int64_t modulo_part = 40;  // percent
  schedule const& s = engine_.of();
  for (schedule const& each : seeds)
    if (is_within(each, limit_)) engine_.consider(each);
  if (has_delay_blocks(s) && is_long(s))
    improve_modulo_blocks(engine_, limit_, budget_.passes / 100 * modulo_part);
  tops_ = improve_orders(engine_, seeds, limit_, budget_, prunes);
  if (budget_.passes >= saturating_product(enough_evaluations, engine_.size()))
    iterated_tabu_search(engine_, limit_);
  else
    iterated_local_search(engine_);
}

ASHLAR_INLINE void seeded_search::beam(std::int64_t passes) {
  if (!engine_.found() || engine_.is_solved()) return;
  engine_.set_budget(engine_.spent() + passes, budget_.seed);
  beam_search(engine_, limit_).run(engine_.best(), beam_width(passes, engine_.of()));
}

ASHLAR_INLINE void seeded_search::resume(std::int64_t passes, std::uint64_t seed) {
  bool const other = now_.gained == 0 || other_.gained * now_.spent > now_.gained * other_.spent;
  if (other && has_delay_blocks(engine_.of())) {
    std::swap(now_, other_);
    climbs_ = !climbs_;
  }
  engine_.set_budget(engine_.spent() + passes, seed);
  double const before = static_cast<double>(reached().first);
  std::int64_t const spent = engine_.spent();
  if (climbs_) {
    full_evaluation evaluate(engine_, is_long(engine_.of()));
    hill_climb(engine_, limit_, evaluate, 100, tops_);
  } else {
    iterated_tabu_search(engine_, limit_);
  }
  now_ = {before - static_cast<double>(reached().first), static_cast<double>(engine_.spent() - spent)};
}

ASHLAR_INLINE std::size_t search_count(std::int64_t passes, std::int64_t size, bool is_long) {
  constexpr std::size_t most = 4;
  constexpr std::int64_t enough_if_long = 5'000'000;
  std::int64_t enough = saturating_product(enough_evaluations, max_of<std::int64_t>(size, 1));
  if (is_long) enough = min_of(enough, enough_if_long);
  std::size_t count = 1;
  while (count < most && passes / enough >= static_cast<std::int64_t>(4 * count)) count *= 2;
  return count;
}

ASHLAR_INLINE std::uint64_t seed_of(std::uint64_t seed, std::uint64_t which) {
  return mixed(seed + which * splitmix_step);
}

ASHLAR_INLINE bool has_least_memory(schedule const& s, memory_limit const& limit) {
  for (int d = 0; d < s.device_count(); ++d) {
    byte_count one_more = max_tick;
    for (int stage = 0; stage < s.stage_count(); ++stage)
      if (s.where.has(0, stage, d))
        one_more = min_of(one_more, limit.memory.of(stage).kept_by_forward());
    byte_count const least = smallest_budget(s.where, limit.memory, d, s.graph.sequence_chunks());
    if (limit.budget_of(d) >= saturating_sum(least, one_more)) return false;
  }
  return true;
}

ASHLAR_INLINE halving_result successive_halving(schedule const& s, std::vector<schedule> const& seeds,
                                                memory_limit const& limit, search_budget budget,
                                                search_watch watch, task_runner for_each_task) {
  constexpr std::size_t rounds = 4, narrowest_beam = 16;
  constexpr std::int64_t part = 8;  // of the budget, or of a share, for what comes first
  // Few orders keep to the least memory, and no small change leads from one to another.
  std::int64_t const beam_share = budget.passes / (has_least_memory(s, limit) ? 2 : part);
  std::int64_t const size = 1 + static_cast<std::int64_t>(pass_count(s));
  std::size_t const count = search_count(budget.passes, size, is_long(s));
  auto const started = [&](std::int64_t passes, std::uint64_t seed) {
    search_budget own = budget;
    own.passes = passes;
    own.seed = seed;
    return seeded_search(s, limit, own, watch);
  };
  std::int64_t const beam_part = beam_width(beam_share, s) < narrowest_beam ? 0 : beam_share;
  std::int64_t share = budget.passes / static_cast<std::int64_t>(2 * count);
  seeded_search first = started(count == 1 ? budget.passes - beam_part : share / part, budget.seed);
  first.start(seeds);
  std::int64_t passes = first.engine().spent();
  if (beam_part > 0) {
    first.beam(beam_part);
    share -= (first.engine().spent() - passes) / static_cast<std::int64_t>(2 * count);
    if (count == 1) first.resume(budget.passes - first.engine().spent(), budget.seed);
    passes = first.engine().spent();
  }
  if (count == 1 || first.engine().is_solved()) return {std::move(first), passes};

  std::vector<seeded_search> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(started(share, seed_of(budget.seed, i)));
  for_each_task(count, [&](std::size_t i) { all[i].start(seeds, true); });
  for (seeded_search const& each : all) passes += each.engine().spent();
  for (std::size_t round = 1;; ++round) {
    std::vector<std::size_t> ranking;
    for (std::size_t i = 0; i < count; ++i) ranking.push_back(i);
    merge_sort(ranking,
               [&](std::size_t a, std::size_t b) { return all[a].reached() < all[b].reached(); });
    seeded_search& best = all[ranking[0]];
    if (round > rounds || best.engine().is_solved())
      return {std::move(first.reached() < best.reached() ? first : best), passes};
    std::size_t const kept = max_of<std::size_t>(count >> round, 1);
    std::vector<seeded_search> next;
    for (std::size_t i = 0; i < count; ++i) {
      next.push_back(all[ranking[i % kept]]);
      passes -= next.back().engine().spent();
    }
    all.swap(next);
    for_each_task(count, [&](std::size_t i) {
      all[i].resume(share / static_cast<std::int64_t>(rounds), seed_of(budget.seed, round * count + i));
    });
    for (seeded_search const& each : all) passes += each.engine().spent();
  }
}

}  // namespace ashlar
