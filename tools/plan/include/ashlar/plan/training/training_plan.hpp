// The times and the memory of a plan of training.
#pragma once

#include <ashlar/plan/training/plan_question.hpp>
#include <ashlar/plan/training/simulated_step.hpp>

#include <vector>

namespace ashlar {

// Seconds of the passes of each stage, per micro-batch; or per piece of its sequences, those of a stage
// one after the other.
std::vector<stage_seconds> times_of(plan_question const& q, training_plan const& plan);

// The times in nanoseconds, with messages.
inline costs costs_of(plan_question const& q, training_plan const& plan) {
  return schedule_costs(step_machine(times_of(q, plan), message_mode::beside, plan.sequence_chunks));
}

// Bytes of each stage on one device: those kept of a micro-batch, or of a piece of its sequences.
memory_model bytes_of(plan_question const& q, training_plan const& plan);

// Seconds of the plan's step, by simulation of its lowered program.
inline double simulated_seconds(plan_question const& q, training_plan const& plan) {
  return simulated_step(passes_of(plan, plan.micro_batches), times_of(q, plan), message_mode::beside);
}

namespace plan_detail {

// The work of a stage in a step.
struct stage_work {
  double passes = 0;  // seconds of all passes
  double first = 0;   // of the shortest forward
  double reduction = 0;
};
std::vector<stage_work> work_of(plan_question const& q, training_plan const& plan);

}  // namespace plan_detail

// A lower bound: every device does its passes, after the forwards that lead to its first stage, and then
// sums its gradients. No step of these stages on these devices is shorter, in any order. O(stages).
double least_seconds(plan_question const& q, training_plan const& plan);

// Seconds that the busiest device computes.
double busiest_seconds(plan_question const& q, training_plan const& plan);

}  // namespace ashlar
