// The question to a search: a model on devices, under a limit on memory.
#pragma once

#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/literal_optional.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/search/graph_seeds.hpp>
#include <ashlar/search/seeds.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <cstdint>
#include <limits>
#include <vector>

namespace ashlar {

// Stages on one route, with split backwards: a chain, or any graph. Stages of which the limit says that
// they have a checkpoint recompute.
struct search_problem {
  placement where;
  micro_batches m;
  costs cost;  // of sequences in chunks: of a chunk, as are activations
  memory_limit limit;
  int sequence_chunks = 1;
  // For objective::program; by default the links of `cost`, whose latency holds their lanes.
  literal_optional<simulation_options> machine = std::nullopt;
  // Without one, a chain. With sizes, `m` counts the smallest micro-batches, and costs and memory are of
  // each stage's own. Sequences are whole.
  literal_optional<stage_graph> graph = std::nullopt;
};

constexpr stage_graph graph_of(search_problem const& problem) {
  if (problem.graph) return *problem.graph;
  return in_sequence_chunks(chain(stages{problem.where.stage_count()}), problem.sequence_chunks);
}

// Whether the stages are a chain, given as a graph or not. Both are searched in the same way.
constexpr bool is_of_a_chain(search_problem const& problem) {
  return !problem.graph || *problem.graph == chain(stages{problem.where.stage_count()});
}

constexpr std::vector<int> recomputed_stages(search_problem const& problem) {
  std::vector<int> found;
  for (int stage = 0; stage < problem.where.stage_count(); ++stage)
    if (problem.limit.memory.of(stage).recomputes()) found.push_back(stage);
  return found;
}

// What a search of a graph begins with: one of the largest micro-batches after the other.
constexpr schedule first_of_graph(search_problem const& problem) {
  schedule s = one_after_another(graph_of(problem), problem.where, problem.m, problem.cost);
  std::vector<int> const again = recomputed_stages(problem);
  if (!again.empty()) s = recompute(static_cast<schedule&&>(s), again);
  return s;
}

// 1F1B over the graph.
constexpr schedule one_f_one_b_of(search_problem const& problem) {
  return graph_seeds(graph_of(problem), problem.where, problem.m, problem.cost)[1];
}

// The least that each device is to have: of a chain the least that any schedule takes; of a graph what
// first_of_graph() holds. The graph has as many stages as the placement.
constexpr std::vector<byte_count> smallest_budgets(search_problem const& problem) {
  memory_model const& memory = problem.limit.memory;
  if (!is_of_a_chain(problem)) return peak_memory(first_of_graph(problem), memory);
  std::vector<byte_count> least;
  for (int d = 0; d < problem.where.device_count(); ++d)
    least.push_back(smallest_budget(problem.where, memory, d, problem.sequence_chunks));
  return least;
}

// Whether the problem has a solution at all: rule::parameter_is_at_least names the smallest limit of a
// device (smallest_budgets()); rule::counts_are_positive, rule::parameter_is_at_most (for one, sequences
// in chunks over a graph), rule::tables_agree (a graph of other stages), rule::micro_batches_fill_blocks
// and the rules of check(costs).
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
  return check_budgets(problem.limit, problem.where, [&] { return smallest_budgets(problem); });
}

// Whether a valid schedule can be a start: it trains the same micro-batches (rule::tables_agree,
// rule::parts_are_alike) on the same placement, all on one route (rule::pass_is_on_its_device), and
// recomputes no stage that the problem does not, or not always (rule::every_pass_is_known).
constexpr diagnosis check_start(search_problem const& problem, schedule const& s) {
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
    for (timed_pass const& t : order)
      if (t.what.kind >= pass_kind::work
          || (t.what.kind == pass_kind::recompute && nth(again, t.what.stage) == 0))
        return {.broken = rule::every_pass_is_known, .first = {.what = t.what}};
  return {};
}

// No schedule is below it; of a graph, whatever memory it takes. The problem must have a solution.
constexpr bound problem_bound(search_problem const& problem) {
  if (!is_of_a_chain(problem)) return *schedule_bound(first_of_graph(problem));
  return workload_bound({.where = problem.where,
                         .micro_batch_count = problem.m.value * problem.sequence_chunks,
                         .cost = problem.cost,
                         .limit = problem.limit,
                         .sequence_chunks = problem.sequence_chunks});
}

// All schedules to begin with: one micro-batch after the other, then what is published and no search
// itself; of a graph, kFkB.
constexpr std::vector<schedule> seeds_of(search_problem const& problem) {
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
