// The best schedule for real costs under a memory limit, and how good it is.
#pragma once

#include <ashlar/bounds.hpp>
#include <ashlar/improve.hpp>
#include <ashlar/lower.hpp>
#include <ashlar/maybe.hpp>
#include <ashlar/search/seeds.hpp>
#include <ashlar/simulate.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace ashlar {

// A chain of stages on one route, with split backwards.
struct search_problem {
  placement where;
  micro_batches m;
  costs cost;
  memory_limit limit;
  maybe<simulation_options> machine = std::nullopt;  // for objective::program; by default links
                                                     // that take `cost.transfer`
};

struct search_result {
  schedule best;
  tick reached = 0;              // what the objective counts
  std::optional<bound> least;    // no schedule is shorter; none where memory counts in other units
  std::int64_t passes = 0;       // dispatched
  std::int64_t evaluations = 0;  // of whole schedules

  constexpr tick bound_of(objective aim) const {
    if (!least) return 0;
    if (aim == objective::both) return least->makespan + 3 * least->span;
    return aim == objective::span ? least->span : least->makespan;
  }
};

// Whether the problem has a solution at all: rule::parameter_is_at_least names the smallest limit of a
// device; rule::counts_are_positive, rule::tables_agree and the rules of check(costs).
constexpr diagnosis check(search_problem const& problem) {
  if (problem.m.value < 1) return {.broken = rule::counts_are_positive, .number = problem.m.value};
  if (diagnosis const d = check(problem.cost, problem.where.stage_count(), problem.m.value); !d.ok())
    return d;
  return is_feasible(problem.where, problem.limit);
}

// The lower bound where the limit counts chunk activations, which all stay until the weight pass.
constexpr std::optional<bound> lower_bound(search_problem const& problem) {
  memory_limit const counted{0};
  if (problem.limit.activation != counted.activation || problem.limit.stash != counted.stash)
    return std::nullopt;
  workload w{
      .where = problem.where, .micro_batch_count = problem.m.value, .cost = problem.cost, .limits = {}};
  for (std::int64_t limit : problem.limit.of_device)
    w.limits.push_back(static_cast<int>(std::min<std::int64_t>(limit, workload::no_limit)));
  return lower_bound(w);
}

namespace search_detail {

constexpr simulation_options machine_of(search_problem const& problem) {
  if (problem.machine) return *problem.machine;
  simulation_options o;
  o.cost = problem.cost;
  o.inside.latency = problem.cost.transfer;
  return o;
}

// Shakes by the simulated makespan of the programs of schedules that are at most 2 % longer than the
// shortest. Returns the best, which may be a seed.
template <class Search>
constexpr std::pair<schedule, tick> shake_programs(Search& engine, search_problem const& problem,
                                                   std::vector<schedule> const& seeds) {
  constexpr std::int64_t dispatches = 20;  // that lowering and simulation cost about
  simulation_options const machine = machine_of(problem);
  auto const made = [&](dispatcher::timeline const& t) {
    schedule s = engine.of();
    return squeeze(dispatcher(s, memory_limit{0}).timed(s, t));
  };
  auto const simulated = [&](dispatcher::timeline const& t) {
    engine.spend(dispatches * engine.size());
    return time_program(lower(made(t)), machine).makespan;
  };
  dispatcher::timeline const best = shake(engine, [&](dispatcher::timeline const& t) {
    if (t.makespan > engine.best().makespan + engine.best().makespan / 50) return score{};
    return score{simulated(t), t.makespan};
  });
  std::pair<schedule, tick> found{made(best), simulated(best)};
  for (schedule const& s : seeds) {
    if (!is_within(s, problem.limit)) continue;
    engine.spend(dispatches * engine.size());
    if (tick const t = time_program(lower(s), machine).makespan; t < found.second) found = {s, t};
  }
  return found;
}

}  // namespace search_detail

// Searches with all that the catalog has on this placement as a start: no worse than any of them that
// fits. Ends at the bound. Throws violation{check(problem)}.
template <class Watch = unwatched>
constexpr search_result search(search_problem const& problem, effort e, Watch watch = {}) {
  if (diagnosis const d = check(problem); !d.ok()) throw violation{d};
  search_result r{.best = {}, .least = lower_bound(problem)};
  if (e.aim != objective::program) e.goal = r.bound_of(e.aim);
  std::vector<schedule> seeds{one_after_another(problem.where, problem.m, problem.cost)};
  for (published_schedule& known : published_on(problem.where, problem.m, problem.cost))
    seeds.push_back(static_cast<schedule&&>(known.made));
  improver engine(seeds[0], problem.limit, e, watch);
  improve_plans(engine, seeds, problem.limit, e);
  if (e.aim == objective::program) {
    auto [best, reached] = search_detail::shake_programs(engine, problem, seeds);
    r.best = static_cast<schedule&&>(best);
    r.reached = reached;
  } else {
    shake(engine);
    r.best = engine.result();
    r.reached = engine.judge(engine.best()).first;
  }
  r.passes = engine.spent();
  r.evaluations = (engine.spent() + engine.size() - 1) / engine.size();
  return r;
}

}  // namespace ashlar
