// Operators cut into stages of a graph, with devices and micro-batch sizes, so that the busiest device
// has the least to do. Jeon et al., GraphPipe: Improving Performance and Scalability of DNN Training
// with Graph Pipeline Parallelism (2024): binary search on the time, dynamic programme over series and
// parallel parts that keeps the fewest samples in flight.
#pragma once

#include <ashlar/plan/graphs/operators.hpp>
#include <ashlar/plan/graphs/part_sums.hpp>
#include <ashlar/plan/graphs/series_parallel.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// A stage of a plan: its operators, and how it runs.
struct planned_stage {
  std::vector<int> operators;  // ascending
  stage_choice how;

  friend constexpr bool operator==(planned_stage const&, planned_stage const&) = default;
};

namespace plan_detail {

// Samples that a stage before must have in flight, by the size of its micro-batches (a power of two).
inline constexpr std::size_t most_sizes = 16;
struct demand {
  std::int64_t of[most_sizes] = {};

  std::int64_t& operator[](std::size_t size) { return of[size]; }
  std::int64_t operator[](std::size_t size) const { return of[size]; }
};

// Stages that end with all their operators' successors served: who they were, and what they demand.
struct stage_state {
  int position = 0;  // of the series: its parts from here on are in stages
  demand asks = {};
  int plan = -1;
};

}  // namespace plan_detail

// Which stages of a tree fit under a time, by a dynamic programme from the last stages to the first. A
// stage is a run of whole parts of a series, or several whole branches of a parallel part; a parallel
// part that is not whole in a stage has all its branches in stages of their own. What a longer run takes
// is never less, so of all runs that end at one place the longest that fits is best, wherever the next
// may begin; and of two sets of stages for the same operators and devices, that which asks for no more
// in flight. So nothing is lost among such stages.
class graph_partitioner {
  using demand = plan_detail::demand;
  using state = plan_detail::stage_state;
  using front = std::vector<state>;
  using fronts = std::vector<front>;  // by devices used

 public:
  static constexpr std::size_t most_branches = 8;  // of which any may share a stage; of more, neighbours

  // Throws violation with check(), and rule::parameter_is_at_most for more than 2^15 samples a
  // micro-batch. Refers to the model.
  graph_partitioner(operator_model const& model, operator_machine const& machine,
                    operator_batch const& batch);

  bool is_exact() const { return tree_.is_exact; }

  // For each set of stages that none beats in both devices and what it asks for in flight: the stages,
  // last ones first, each device of which computes for `time` ticks a step at most; and no message takes
  // longer. None: there are no such stages.
  std::vector<std::vector<planned_stage>> stages_within(tick time);

  // One device does all, a sample at a time; and all messages after one another.
  tick most_time() const;

 private:
  // A stage and the plan of what comes after it; or two plans side by side.
  struct plan {
    int part = -1;            // of the tree: a series, or a parallel part
    int first = 0, last = 0;  // of its parts: a run
    unsigned branches = 0;    // or a set
    stage_choice how = {};
    int next = -1, beside = -1;
  };

  bool fits(operator_cost const& sum, stage_choice const& how, std::int64_t in_flight) const {
    return busy_of_stage(sum, how, batch_.samples) <= time_
           && memory_of_stage(sum, how, in_flight, batch_.samples) <= machine_.memory;
  }
  static operator_cost difference(operator_cost a, operator_cost const& b);
  // What a stage that holds so much asks of those before it.
  demand asked_by(std::int64_t in_flight, int micro_batch) const;

  void insert(front& all, int position, demand const& asks, plan const& made);

  // All of a series in stages, before stages that ask for `asks`; by devices, 1 .. most.
  fronts stages_of(int series, demand const& asks, int most);

  void add_runs(fronts& all, int series, series_table const& t, state const& now, int used, int most);

  // All branches of a parallel part, each in stages of its own or some of them whole in one stage.
  fronts stages_of_branches(int parallel, demand const& asks, int most);

  // The longest runs of branches from one on, in a stage.
  void add_runs_of_branches(std::vector<fronts>& of, int parallel, std::size_t first, demand const& asks,
                            int most);

  // A set of branches in one stage.
  fronts together(int parallel, std::size_t set, demand const& asks, int most);

  // Both side by side: what they ask for is the larger.
  void extend(fronts const& some, fronts const& more, fronts& into, int most);

  void collect(int number, std::vector<planned_stage>& into) const;

  operator_model const& model_;
  operator_machine machine_;
  operator_batch batch_;
  std::vector<int> sizes_;
  part_tree tree_;
  part_sums sums_;
  tick time_ = 0;
  std::vector<plan> plans_;
};

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/plan/graphs/graph_partition.ipp>
#endif
