// All convex partitions of a small graph of operators, to minimize the load of the busiest device.
#pragma once

#include <ashlar/model/operator_partition.hpp>
#include <ashlar/plan/graphs/graph_partition.hpp>
#include <ashlar/plan/graphs/operators.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// Tries every set of convex stages without a cycle, every micro-batch size and, for each, the fewest
// devices on which the stage is faster than the best plan so far. Exponential in operators.
class convex_partitioner {
 public:
  static constexpr std::int64_t most_choices = 500'000;  // of a stage's size and devices

  // Requires a model, machine and batch that pass check(). Refers to the model.
  convex_partitioner(operator_model const& model, operator_machine const& machine,
                     operator_batch const& batch);

  // The stages whose busiest device and longest message take the least time below `time`; none if no
  // such stages fit in memory, or none were among most_choices.
  std::vector<planned_stage> stages_below(tick time);
  // Whether all choices were tried.
  bool is_complete() const { return choices_ <= most_choices; }

 private:
  // Operators before `next` are in `used` stages.
  void extend(std::size_t next, int used);
  bool may_fit(operator_cost const& sum) const;

  void try_stages(int used);

  // The fewest devices on which a stage is busy for less than the limit; 0 if there are none.
  int fewest(operator_cost const& sum, int size) const;
  // Whether the devices suffice, ignoring memory.
  bool has_devices() const;

  // Finds sizes and devices for the stages from `stage` down to the first. Those after it are chosen;
  // `time` is their busy time or longest message.
  bool choose(operator_partition const& cut, int stage, int left, tick time);

  operator_model const& model_;
  operator_machine machine_;
  operator_batch batch_;
  std::vector<int> sizes_, stage_of_;
  std::vector<operator_cost> sum_, costs_;  // of stages under construction, and by number in the graph
  std::vector<stage_choice> how_;
  std::vector<std::int64_t> held_;  // samples in flight
  tick limit_ = 0;
  std::int64_t choices_ = 0;
  std::vector<planned_stage> best_;
};

}  // namespace ashlar
