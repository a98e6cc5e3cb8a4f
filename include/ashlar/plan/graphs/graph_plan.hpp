// The stages, devices and micro-batches of a graph of operators with the shortest step.
#pragma once

#include <ashlar/plan/graphs/graph_partition.hpp>
#include <ashlar/plan/graphs/operators.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <vector>

namespace ashlar {

// Stages in the order of their numbers in the graph, whose sizes are in units of the smallest
// micro-batch.
struct graph_plan {
  tick time = 0;  // in which the busiest device computes a step
  stage_graph graph;
  std::vector<planned_stage> stages;
  int unit = 1;          // samples
  bool is_exact = true;  // else shorter plans may have been left out: see part_tree

  bool found() const { return !stages.empty(); }
};

namespace plan_detail {

// Stages are numbered by their first operators as far as edges ascend so.
graph_plan numbered(operator_model const& model, std::vector<planned_stage> const& found, bool is_exact,
                    int samples);

operator_cost sum_of(operator_model const& model, planned_stage const& stage);

}  // namespace plan_detail

// In which the busiest device of the plan computes a step.
tick busiest_of(operator_model const& model, graph_plan const& plan, int samples);

// The plans within a time of which none beats another in both devices and samples in flight.
std::vector<graph_plan> plans_within(graph_partitioner& search, operator_model const& model,
                                     operator_batch const& batch, tick time);

// The least time that any plan keeps within, by bisection; -1 if there is none, whatever the time.
tick least_time_of(graph_partitioner& search);

// Of models with no more operators, all convex stages are tried, too.
inline constexpr int most_tried_whole = 8;

// The plan whose busiest device has least to do, among the stages that graph_partitioner looks at; of
// several that with the fewest samples in flight in its first stages. A small model has another plan if
// other convex stages have less to do: no partition is better then. None found: no plan fits into
// memory. Throws violation with check().
graph_plan best_graph_plan(operator_model const& model, operator_machine const& machine,
                           operator_batch const& batch);

// 1F1B over the plan's stages, each of which stands for one device of the schedule; transfers take no
// time.
schedule schedule_of(operator_model const& model, graph_plan const& plan, int samples);

// Ticks of a step as its program is simulated: a stage sends what its operators hand out of it, and
// messages hold up their links.
tick simulated_step(operator_model const& model, operator_machine const& machine, graph_plan const& plan,
                    int samples);

// What was chosen by simulation, beside what bisection alone would have chosen.
struct simulated_plan {
  graph_plan rated, chosen;
  tick rated_step = 0, chosen_step = 0;

  bool differs() const { return chosen_step < rated_step; }
};

// All plans within up to so many percent of the least time, each scheduled and simulated: the shortest
// step. A longer time per sample may come with fewer stages, hence a shorter way in and out.
simulated_plan best_simulated_plan(operator_model const& model, operator_machine const& machine,
                                   operator_batch const& batch, int percent = 50);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/plan/graphs/graph_plan.ipp>
#endif
