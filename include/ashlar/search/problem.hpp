// What a search is asked: a model on devices, under a limit on memory.
#pragma once

#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/literal_optional.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/search/seeds.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <cstdint>
#include <limits>
#include <vector>

namespace ashlar {

// A chain of stages on one route, with split backwards. Stages of which the limit says that they have a
// checkpoint recompute.
struct search_problem {
  placement where;
  micro_batches m;
  costs cost;  // of sequences in chunks: of a chunk, as are activations
  memory_limit limit;
  int sequence_chunks = 1;
  // For objective::program; by default the links of `cost`, whose latency holds their lanes.
  literal_optional<simulation_options> machine = std::nullopt;
};

// Whether the problem has a solution at all: rule::parameter_is_at_least names the smallest limit of a
// device; rule::counts_are_positive, rule::parameter_is_at_most, rule::tables_agree and the rules of
// check(costs).
constexpr diagnosis check(search_problem const& problem) {
  for (int count : {problem.m.value, problem.sequence_chunks})
    if (count < 1) return {.broken = rule::counts_are_positive, .number = count};
  constexpr int most = std::numeric_limits<int>::max();
  if (problem.m.value > most / problem.sequence_chunks)
    return {.broken = rule::parameter_is_at_most,
            .number = most / problem.sequence_chunks,
            .which = parameter::micro_batch_count,
            .given = problem.m.value};
  int const count = problem.m.value * problem.sequence_chunks;
  if (diagnosis const d =
          check(problem.cost, problem.where.stage_count(), problem.where.device_count(), count);
      !d.ok())
    return d;
  return check(problem.limit, problem.where, problem.sequence_chunks);
}

constexpr std::vector<int> recomputed_stages(search_problem const& problem) {
  std::vector<int> found;
  for (int stage = 0; stage < problem.where.stage_count(); ++stage)
    if (problem.limit.memory.of(stage).recomputes()) found.push_back(stage);
  return found;
}

// Whether a valid schedule can be a start: it trains the same micro-batches on the same placement, all
// on one route (rule::tables_agree), and recomputes no stage that the problem does not, or not always
// (rule::every_pass_is_known).
constexpr diagnosis check_start(search_problem const& problem, schedule const& s) {
  int const m = problem.m.value * problem.sequence_chunks;
  stage_graph const graph =
      in_sequence_chunks(chain(stages{problem.where.stage_count()}), problem.sequence_chunks);
  if (s.micro_batch_count() != m || !(s.graph == graph) || s.mode != execution_mode::training
      || s.device_count() != problem.where.device_count())
    return {.broken = rule::tables_agree, .number = s.micro_batch_count()};
  for (int const route : s.route)
    for (int stage = 0; stage < s.stage_count(); ++stage)
      if (s.where.device_of(route, stage) != problem.where.device_of(0, stage))
        return {.broken = rule::tables_agree, .first = {.what = {.stage = stage}}, .number = route};
  std::vector<int> again(static_cast<std::size_t>(s.stage_count()), 0);
  for (int const stage : recomputed_stages(s))
    again[static_cast<std::size_t>(stage)] = problem.limit.memory.of(stage).recomputes() ? 1 : 0;
  for (auto const& order : s.order)
    for (timed_pass const& t : order)
      if (t.what.kind >= pass_kind::work
          || (t.what.kind == pass_kind::recompute && again[static_cast<std::size_t>(t.what.stage)] == 0))
        return {.broken = rule::every_pass_is_known, .first = {.what = t.what}};
  return {};
}

// No schedule is below it. The problem must have a solution.
constexpr bound problem_bound(search_problem const& problem) {
  return workload_bound({.where = problem.where,
                         .micro_batch_count = problem.m.value * problem.sequence_chunks,
                         .cost = problem.cost,
                         .limit = problem.limit,
                         .sequence_chunks = problem.sequence_chunks});
}

// All schedules to begin with: one micro-batch after the other, then what is published and no search
// itself.
constexpr std::vector<schedule> seeds_of(search_problem const& problem) {
  int const q = problem.sequence_chunks;
  std::vector<schedule> seeds{one_after_another(problem.where, problem.m, problem.cost, q)};
  for (published_schedule& known :
       published_on(problem.where, problem.m, problem.cost, q, searched_entries::left_out))
    seeds.push_back(static_cast<schedule&&>(known.made));
  std::vector<int> const again = recomputed_stages(problem);
  if (again.empty()) return seeds;
  for (schedule& s : seeds) s = recompute(static_cast<schedule&&>(s), again);
  return seeds;
}

}  // namespace ashlar
