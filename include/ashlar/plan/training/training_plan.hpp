// The seconds and the bytes of a plan of training.
#pragma once

#include <ashlar/plan/training/plan_question.hpp>
#include <ashlar/plan/training/simulated_step.hpp>

#include <vector>

namespace ashlar {

// Seconds of the passes of each stage: of a micro-batch, or of each piece of its sequences, those of a
// stage one after the other.
std::vector<stage_seconds> times_of(plan_question const& q, training_plan const& plan);

// The same in nanoseconds, with messages.
inline costs costs_of(plan_question const& q, training_plan const& plan) {
  return schedule_costs(step_machine(times_of(q, plan), message_mode::beside, plan.sequence_chunks));
}

// Bytes of each stage on one device: what is kept of a micro-batch, or of a piece of its sequences.
memory_model bytes_of(plan_question const& q, training_plan const& plan);

// Seconds of the plan's step, by simulation of its lowered program.
inline double simulated_seconds(plan_question const& q, training_plan const& plan) {
  return simulated_step(passes_of(plan, plan.micro_batches), times_of(q, plan), message_mode::beside);
}

namespace plan_detail {

// What a stage does in a step.
struct stage_work {
  double passes = 0;  // seconds of them all
  double first = 0;   // of the shortest forward
  double reduction = 0;
};
std::vector<stage_work> work_of(plan_question const& q, training_plan const& plan);

}  // namespace plan_detail

// Every device does its passes, after the forwards that lead to its first stage, and then sums its
// gradients. Whatever the order, no step of these stages on these devices is shorter. O(stages).
double least_seconds(plan_question const& q, training_plan const& plan);

// Seconds in which the device with most to do computes.
double busiest_seconds(plan_question const& q, training_plan const& plan);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/plan/training/training_plan.ipp>
#endif
