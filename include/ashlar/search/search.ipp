// Definitions of search.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/optimize/iterated_local_search.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/search/search.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <utility>

namespace ashlar::search_detail {

ASHLAR_INLINE simulation_options machine_of(search_problem const& problem) {
  if (problem.machine) return *problem.machine;
  simulation_options machine{.cost = problem.cost};
  machine.memory.stages[0].activation = machine.memory.stages[0].gradient = problem.cost.message;
  return machine;
}

// Local search by the simulated makespan of the programs of schedules that are at most 2 % longer than
// the shortest. Returns the best, which may be a seed.
ASHLAR_INLINE std::pair<schedule, tick> search_programs(justifier& engine, search_problem const& problem,
                                                        std::vector<schedule> const& seeds) {
  constexpr std::int64_t dispatches = 20;  // that lowering and simulation cost about
  simulation_options const machine = machine_of(problem);
  auto const made = [&](list_scheduler::solution const& t) {
    return squeeze(timed(engine.of(), engine.passes(), t));
  };
  auto const simulated = [&](list_scheduler::solution const& t) {
    engine.spend(dispatches * engine.size());
    return time_program(lower(made(t)), machine).makespan;
  };
  list_scheduler::solution const best =
      iterated_local_search(engine, [&](list_scheduler::solution const& t) {
        if (t.makespan > engine.best().makespan + engine.best().makespan / 50) return objective_value{};
        return objective_value{simulated(t), t.makespan};
      });
  std::pair<schedule, tick> found{made(best), simulated(best)};
  for (schedule const& s : seeds) {
    if (!is_within(s, problem.limit)) continue;
    engine.spend(dispatches * engine.size());
    if (tick const t = time_program(lower(s), machine).makespan; t < found.second) found = {s, t};
  }
  return found;
}

}  // namespace ashlar::search_detail

namespace ashlar {

ASHLAR_INLINE search_start::search_start(search_problem const& problem) {
  if (diagnosis const d = check(problem); !d.ok()) refuse(d);
  seeds = seeds_of(problem);
  least = problem_bound(problem);
}

ASHLAR_INLINE void search_start::add(search_problem const& problem, schedule s) {
  if (diagnosis const d = check_start(problem, s); !d.ok()) refuse(d);
  for (auto& order : s.order) order = without_pairs(order);
  s.where = problem.where;
  for (int& route : s.route) route = 0;
  std::vector<int> left = recomputed_stages(problem), again;
  std::vector<int> const has = recomputed_stages(s);
  for (int stage : left)
    if (!contains(has, stage)) again.push_back(stage);
  s = split_backward(retime(static_cast<schedule&&>(s), problem.cost));
  if (!again.empty()) s = recompute(static_cast<schedule&&>(s), again);
  seeds.push_back(squeeze(static_cast<schedule&&>(s)));
}

ASHLAR_INLINE search_result search(search_problem const& problem, search_start const& start,
                                   search_budget budget, search_watch watch, task_runner for_each_task) {
  search_result r{.best = {}, .least = start.least};
  std::vector<schedule> const& seeds = start.seeds;
  bool const for_programs = budget.aim == objective::program;
  std::int64_t const passes = budget.passes;
  if (for_programs)
    budget.passes /= 2;
  else
    budget.goal = r.bound_of(budget.aim);
  auto raced = successive_halving(seeds[0], seeds, problem.limit, budget, watch, for_each_task);
  auto& engine = raced.first.engine();
  if (for_programs) {
    engine.set_budget(engine.spent() + passes - raced.passes, budget.seed);
    raced.passes -= engine.spent();
    auto [best, reached] = search_detail::search_programs(engine, problem, seeds);
    raced.passes += engine.spent();
    r.best = static_cast<schedule&&>(best);
    r.reached = reached;
  } else {
    r.best = engine.result();
    r.reached = engine.judge(engine.best()).first;
  }
  r.passes = raced.passes;
  r.evaluations = (raced.passes + engine.size() - 1) / engine.size();
  return r;
}

}  // namespace ashlar
