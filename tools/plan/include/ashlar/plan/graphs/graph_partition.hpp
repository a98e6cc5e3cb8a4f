// Cuts operators into stages of a graph, with devices and micro-batch sizes, to minimize the load of the
// busiest device. Jeon et al., GraphPipe: Improving Performance and Scalability of DNN Training with
// Graph Pipeline Parallelism (2024): binary search on the time, dynamic programme over series and
// parallel parts that keeps the fewest samples in flight.
#pragma once

#include <ashlar/plan/graphs/operators.hpp>
#include <ashlar/plan/graphs/part_sums.hpp>
#include <ashlar/plan/graphs/series_parallel.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// A stage of a plan: its operators, and the way it runs.
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

// Stages that together have all successors of their operators, with the samples in flight they demand.
struct stage_state {
  int position = 0;  // parts of the series from here on are in stages
  demand asks = {};
  int plan = -1;
};

}  // namespace plan_detail

// Finds the stages of a tree that fit under a time, by a dynamic programme from the last stages to the
// first. A stage is a run of whole parts of a series, or several whole branches of a parallel part; a
// parallel part that is not whole in a stage has all its branches in stages of their own. A longer run
// never takes less, so of all runs that end at one place the longest that fits is best, wherever the
// next begins; and of two sets of stages for the same operators and devices, the one with fewer samples
// in flight. So the search is exact among such stages.
class graph_partitioner {
  using demand = plan_detail::demand;
  using state = plan_detail::stage_state;
  using front = std::vector<state>;
  using fronts = std::vector<front>;  // by devices used

 public:
  static constexpr std::size_t most_branches = 8;  // more branches share a stage only as neighbours

  // Throws violation with check(), and rule::parameter_is_at_most for more than 2^15 samples a
  // micro-batch. Refers to the model.
  graph_partitioner(operator_model const& model, operator_machine const& machine,
                    operator_batch const& batch);

  bool is_exact() const { return tree_.is_exact; }

  // Returns every Pareto-optimal set of stages in devices and samples in flight, last stages first. Each
  // device computes for at most `time` ticks a step, and no message takes longer. Empty if there are no
  // such stages.
  std::vector<std::vector<planned_stage>> stages_within(tick time);

  // Ticks if one device does everything, a sample at a time, with all messages one after another.
  tick most_time() const;

 private:
  // A stage and the plan of the stages after it; or two plans side by side.
  struct plan {
    int part = -1;            // of the tree: a series, or a parallel part
    int first = 0, last = 0;  // the run of its parts
    unsigned branches = 0;    // or the set of its parts
    stage_choice how = {};
    int next = -1, beside = -1;
  };

  bool fits(operator_cost const& sum, stage_choice const& how, std::int64_t in_flight) const {
    return busy_of_stage(sum, how, batch_.samples) <= time_
           && memory_of_stage(sum, how, in_flight, batch_.samples) <= machine_.memory;
  }
  static operator_cost difference(operator_cost a, operator_cost const& b);
  // The demand of a stage on those before it.
  demand asked_by(std::int64_t in_flight, int micro_batch) const;

  void insert(front& all, int position, demand const& asks, plan const& made);

  // All of a series in stages, before stages that demand `asks`; by devices, 1 .. most.
  fronts stages_of(int series, demand const& asks, int most);

  void add_runs(fronts& all, int series, series_table const& t, state const& now, int used, int most);

  // All branches of a parallel part, each in stages of its own or some of them whole in one stage.
  fronts stages_of_branches(int parallel, demand const& asks, int most);

  // Adds the longest runs of branches that begin with `first`, each as a stage.
  void add_runs_of_branches(std::vector<fronts>& of, int parallel, std::size_t first, demand const& asks,
                            int most);

  // A set of branches in one stage.
  fronts together(int parallel, std::size_t set, demand const& asks, int most);

  // Combines plans side by side. Their demand is the larger of both.
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
