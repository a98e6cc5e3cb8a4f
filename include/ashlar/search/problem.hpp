// The question to a search: a model on devices, under a limit on memory.
#pragma once

#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/core/literal_optional.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/search/graph_seeds.hpp>
#include <ashlar/simulate/options.hpp>

#include <cstdint>
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
  // Used by objective::program; by default the links of `cost`, whose latency holds their lanes.
  literal_optional<simulation_options> machine = std::nullopt;
  // A chain if there is none. With sizes, `m` counts the smallest micro-batches, and costs and memory
  // are of each stage's own. Sequences are whole.
  literal_optional<stage_graph> graph = std::nullopt;
};

// The graph that the problem names, else a chain, cut into sequence chunks.
inline stage_graph graph_of(search_problem const& problem) {
  if (problem.graph) return *problem.graph;
  return in_sequence_chunks(chain(stages{problem.where.stage_count()}), problem.sequence_chunks);
}

// Whether the stages are a chain, given as a graph or not. Both are searched in the same way.
inline bool is_of_a_chain(search_problem const& problem) {
  return !problem.graph || *problem.graph == chain(stages{problem.where.stage_count()});
}

// Passes of a schedule of the problem, which one evaluation dispatches. Throws violation:
// check(limit.memory), and as graph_of(). O(stages).
std::int64_t pass_count(search_problem const& problem);

// The stages whose memory says that they recompute, ascending.
std::vector<int> recomputed_stages(search_problem const& problem);

// The first schedule of a search of a graph: one of the largest micro-batches after the other. Throws
// violation{rule::parameter_is_at_most} for sequences in chunks. The problem has passed check().
schedule first_of_graph(search_problem const& problem);

// Makes 1F1B over the graph. Throws as first_of_graph().
inline schedule one_f_one_b_of(search_problem const& problem) {
  must_be(at_most(parameter::sequence_chunk_count, problem.sequence_chunks, 1));
  return graph_seeds(graph_of(problem), problem.where, problem.m, problem.cost)[1];
}

// The least memory that each device needs: for a chain the least of any schedule; for a graph that of
// first_of_graph(). The graph has as many stages as the placement.
std::vector<byte_count> smallest_budgets(search_problem const& problem);

// Whether the problem has a solution at all: rule::parameter_is_at_least names the smallest limit of a
// device (smallest_budgets()); rule::counts_are_positive, rule::parameter_is_at_most (for one, sequences
// in chunks over a graph), rule::tables_agree (a graph of other stages), rule::micro_batches_fill_blocks
// and the rules of check(costs).
diagnosis check(search_problem const& problem);

// Whether a valid schedule can be a start: it trains the same micro-batches (rule::tables_agree,
// rule::parts_are_alike) on the same placement, all on one route (rule::pass_is_on_its_device), and
// recomputes no stage that the problem does not, or not always (rule::every_pass_is_known).
diagnosis check_start(search_problem const& problem, schedule const& s);

// The workload of a chain.
workload workload_of(search_problem const& problem);

// A lower bound for all schedules; for a graph, with any memory. The problem must have a solution.
bound problem_bound(search_problem const& problem);

// All schedules to begin with: one micro-batch after the other, then the published ones that no search
// finds; for a graph, kFkB.
std::vector<schedule> seeds_of(search_problem const& problem);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/search/problem.ipp>
#endif
