// Definitions of problem.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/search/problem.hpp>
#include <ashlar/search/seeds.hpp>

namespace ashlar {

ASHLAR_INLINE std::int64_t pass_count(search_problem const& problem) {
  stage_graph const graph = graph_of(problem);
  if (diagnosis const d = check(problem.limit.memory, graph.count()); !d.ok()) refuse(d);
  std::int64_t passes = 0;
  for (int stage = 0; stage < graph.count(); ++stage)
    passes += std::int64_t{problem.m.value} * problem.sequence_chunks / graph.size_of(stage)
              * (problem.limit.memory.of(stage).recomputes() ? 4 : 3);
  return passes;
}

ASHLAR_INLINE std::vector<int> recomputed_stages(search_problem const& problem) {
  std::vector<int> found;
  for (int stage = 0; stage < problem.where.stage_count(); ++stage)
    if (problem.limit.memory.of(stage).recomputes()) found.push_back(stage);
  return found;
}

ASHLAR_INLINE schedule first_of_graph(search_problem const& problem) {
  must_be(at_most(parameter::sequence_chunk_count, problem.sequence_chunks, 1));
  schedule s = one_after_another(graph_of(problem), problem.where, problem.m, problem.cost);
  std::vector<int> const again = recomputed_stages(problem);
  if (!again.empty()) s = recompute(static_cast<schedule&&>(s), again);
  return s;
}

ASHLAR_INLINE std::vector<byte_count> smallest_budgets(search_problem const& problem) {
  memory_model const& memory = problem.limit.memory;
  if (!is_of_a_chain(problem)) return peak_memory(first_of_graph(problem), memory);
  std::vector<byte_count> least;
  for (int d = 0; d < problem.where.device_count(); ++d)
    least.push_back(smallest_budget(problem.where, memory, d, problem.sequence_chunks));
  return least;
}

ASHLAR_INLINE diagnosis check(search_problem const& problem) {
  for (int count : {problem.m.value, problem.sequence_chunks})
    if (count < 1) return {.broken = rule::counts_are_positive, .number = count};
  int const most = most_passes / max_of(1, problem.where.stage_count());
  if (diagnosis const d =
          at_most(parameter::micro_batch_count, problem.m.value, most / problem.sequence_chunks);
      !d.ok())
    return d;
  int const count = problem.m.value * problem.sequence_chunks;
  if (diagnosis const d = check(problem.cost, problem.where.stage_count(), problem.where.device_count(),
                                count, problem.sequence_chunks);
      !d.ok())
    return d;
  if (problem.graph) {
    stage_graph const& graph = *problem.graph;
    if (graph.count() != problem.where.stage_count())
      return wrong_size(table::stages_of_graph, graph.count(), problem.where.stage_count());
    if (int const q = max_of(problem.sequence_chunks, graph.sequence_chunks()); q > 1)
      return {.broken = rule::parameter_is_at_most,
              .number = 1,
              .which = parameter::sequence_chunk_count,
              .given = q};
    if (count % graph.together() != 0)
      return {.broken = rule::micro_batches_fill_blocks, .number = graph.together()};
  }
  return check_budgets(problem.limit, problem.where, count, [&] { return smallest_budgets(problem); });
}

ASHLAR_INLINE diagnosis check_start(search_problem const& problem, schedule const& s) {
  int const m = problem.m.value * problem.sequence_chunks;
  if (s.micro_batch_count() != m)
    return wrong_size(table::micro_batches_of_schedule, s.micro_batch_count(), m);
  if (s.device_count() != problem.where.device_count())
    return wrong_size(table::devices_of_placement, s.device_count(), problem.where.device_count());
  if (s.stage_count() != problem.where.stage_count())
    return wrong_size(table::stages_of_placement, s.stage_count(), problem.where.stage_count());
  if (!(s.graph == graph_of(problem)) || s.mode != execution_mode::training)
    return {.broken = rule::parts_are_alike};
  for (int const route : s.route)
    for (int stage = 0; stage < s.stage_count(); ++stage)
      if (s.where.device_of(route, stage) != problem.where.device_of(0, stage))
        return {.broken = rule::pass_is_on_its_device,
                .first = {.device = s.where.device_of(route, stage), .what = {.stage = stage}},
                .second = {.device = problem.where.device_of(0, stage)}};
  std::vector<int> again(static_cast<std::size_t>(s.stage_count()), 0);
  for (int const stage : recomputed_stages(s))
    nth(again, stage) = problem.limit.memory.of(stage).recomputes() ? 1 : 0;
  for (auto const& order : s.order)
    for (timed_pass const t : each_pass(order))
      if (t.what.kind >= pass_kind::work
          || (t.what.kind == pass_kind::recompute && nth(again, t.what.stage) == 0))
        return {.broken = rule::every_pass_is_known, .first = {.what = t.what}};
  return {};
}

ASHLAR_INLINE workload workload_of(search_problem const& problem) {
  return {.where = problem.where,
          .micro_batch_count = problem.m.value * problem.sequence_chunks,
          .cost = problem.cost,
          .limit = problem.limit,
          .sequence_chunks = problem.sequence_chunks};
}

ASHLAR_INLINE bound problem_bound(search_problem const& problem) {
  if (!is_of_a_chain(problem)) return *schedule_bound(first_of_graph(problem));
  return workload_bound(workload_of(problem));
}

ASHLAR_INLINE std::vector<schedule> seeds_of(search_problem const& problem) {
  std::vector<schedule> seeds;
  if (is_of_a_chain(problem)) {
    int const q = problem.sequence_chunks;
    seeds.push_back(one_after_another(problem.where, problem.m, problem.cost, q));
    for (published_schedule& known :
         published_on(problem.where, problem.m, problem.cost, q, searched_entries::left_out))
      seeds.push_back(static_cast<schedule&&>(known.made));
  } else {
    seeds = graph_seeds(graph_of(problem), problem.where, problem.m, problem.cost);
  }
  std::vector<int> const again = recomputed_stages(problem);
  if (again.empty()) return seeds;
  for (schedule& s : seeds) s = recompute(static_cast<schedule&&>(s), again);
  return seeds;
}

}  // namespace ashlar
