// Finds the plan of training with the shortest step. Plans that do not fit a device's memory are
// rejected. The rest is ranked by simulating the lowered programs, unless a bound rules a plan out. Then
// a search improves the schedules of the best.
#pragma once

#include <ashlar/catalog/entry.hpp>
#include <ashlar/core/function_ref.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/plan/training/layout.hpp>
#include <ashlar/plan/training/plan_question.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// A plan with the time and memory of its step.
struct planned_step {
  training_plan plan;
  double bound = 0;    // no schedule of these stages takes fewer seconds
  double seconds = 0;  // simulated
  int fullest = 0;     // the device with the fullest memory
  double bytes = 0;    // its peak memory
  double budget = 0;   // its limit
  double catalog = 0;  // seconds before the search, if that found a better order
  schedule passes{};   // the better order; empty: that of the catalog
};

// Phase of answer(), for progress output: it checks the memory and bounds of all plans, then simulates
// some.
enum class plan_phase : unsigned char { checking, simulating };

// Called with the phase, the number of its plans that are done, and their total.
using plan_progress = function_ref<void(plan_phase, std::size_t done, std::size_t of)>;

// The result of answer().
struct plan_answer {
  std::vector<planned_step> best;      // by seconds, or seconds times devices
  std::vector<planned_step> fitting;   // all that fit, by bounds; not all are simulated
  std::vector<planned_step> rejected;  // too large; by bytes, as a share of the device's limit
  int simulated = 0, ruled_out = 0;    // ruled out by their bound
};

// Sets `fullest`, `bytes` and `budget` of `step`: the device with the highest share of its memory in use
// when the plan runs `s`.
void find_fullest_device(plan_question const& q, schedule const& s, planned_step& step);

// The question's objective: seconds of a step, or seconds times devices.
inline double objective_of(plan_question const& q, training_plan const& plan, double seconds) {
  return q.objective == plan_objective::time ? seconds : seconds * plan.device_count();
}

// The `top` plans of least simulated time. Plans are simulated in the order of their bounds until the
// next bound is no less than the worst of the best so far, so no skipped plan is better. Calls
// `progress(phase, done, of)` after each. Seconds for hundreds of devices. Throws violation{check(q)},
// rule::parameter_is_at_least unless `top` is at least 1, rule::ticks_fit and rule::sizes_fit for a plan
// whose times or bytes are out of range.
plan_answer answer(plan_question const& q, std::vector<catalog::entry const*> const& entries,
                   std::size_t top, plan_progress progress);

// Searches a better order of the plan's passes, with backwards split, within the memory of each device.
// The step adopts it if its simulated program is shorter. Nothing changes without a budget.
void improve_step(plan_question const& q, planned_step& step, std::int64_t passes);

// The schedule of a step.
inline schedule passes_of(planned_step const& step) {
  if (!step.passes.order.empty()) return step.passes;
  return passes_of(step.plan, step.plan.micro_batches);
}

// The rule of layout.hpp that puts one plan before another. Sequence parallelism decides nothing: all
// plans that split layers have it.
layout_reason comes_before(plan_question const& q, training_plan const& a, training_plan const& b);

// Whether the study behind these rules covers the plan: it sharded the optimizer at most.
inline bool rules_know(training_plan const& plan) {
  return plan.sharding == sharding_level::none || plan.sharding == sharding_level::optimizer;
}

// The plan that these rules try first among those that fit and that they cover: of the first layout, the
// one of least simulated time. Without an entry if there is none. O(plans) and the simulations of that
// layout.
planned_step tried_first(plan_question const& q, plan_answer const& a);

}  // namespace ashlar
