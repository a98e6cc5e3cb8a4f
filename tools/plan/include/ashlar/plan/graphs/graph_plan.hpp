// The plan with the shortest step for a graph of operators: stages, devices and micro-batches.
#pragma once

#include <ashlar/plan/graphs/graph_partition.hpp>
#include <ashlar/plan/graphs/operators.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <vector>

namespace ashlar {

// Stages in the order of their numbers in the graph. Sizes are in units of the smallest micro-batch.
struct graph_plan {
  tick time = 0;  // compute ticks of the busiest device in a step
  stage_graph graph;
  std::vector<planned_stage> stages;
  int unit = 1;          // samples
  bool is_exact = true;  // false: not all partitions were tried, and some may be shorter

  bool found() const { return !stages.empty(); }
};

namespace plan_detail {

// Numbers stages in a topological order, ties by first operator.
graph_plan numbered(operator_model const& model, std::vector<planned_stage> const& found, bool is_exact,
                    int samples);

operator_cost sum_of(operator_model const& model, planned_stage const& stage);

}  // namespace plan_detail

// Compute ticks of the plan's busiest device in a step. Requires, as all that take a plan, one of this
// model, which check() accepts, for so many samples.
tick busiest_of(operator_model const& model, graph_plan const& plan, int samples);

// The plans within a time that are Pareto-optimal in devices and samples in flight.
std::vector<graph_plan> plans_within(graph_partitioner& search, operator_model const& model,
                                     operator_batch const& batch, tick time);

// The least time that any plan keeps, by bisection; -1 if there is no plan for any time.
tick least_time_of(graph_partitioner& search);

// The plan with the least load of the busiest device, or the shortest longest message if that takes
// more: among the stages that graph_partitioner considers, then among as many convex ones as
// convex_partitioner tries; among equals one with the fewest samples in flight in its first stages.
// Empty if no plan fits into memory. Throws violation with check().
graph_plan best_graph_plan(operator_model const& model, operator_machine const& machine,
                           operator_batch const& batch);

// 1F1B over the plan's stages, each of which is one device of the schedule. Transfers take no time.
schedule schedule_of(operator_model const& model, graph_plan const& plan, int samples);

// Ticks of a step by simulation of its program: a stage sends the outputs of its operators that leave
// it, and messages occupy their links.
tick simulated_step(operator_model const& model, operator_machine const& machine, graph_plan const& plan,
                    int samples);

// The plan chosen by simulation, with the one that bisection alone would choose.
struct simulated_plan {
  graph_plan rated, chosen;
  tick rated_step = 0, chosen_step = 0;

  bool differs() const { return chosen_step < rated_step; }
};

// Schedules and simulates all plans within `percent` above the least time, and returns the shortest
// step. A longer time per sample may come with fewer stages, so with faster fill and drain.
simulated_plan best_simulated_plan(operator_model const& model, operator_machine const& machine,
                                   operator_batch const& batch, int percent = 50);

}  // namespace ashlar
