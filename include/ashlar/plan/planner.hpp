// Which plan of training makes the shortest step. Plans that do not fit a device's memory are rejected.
// The rest is ranked by simulating the lowered programs, unless a bound rules a plan out. Then a search
// improves the schedules of the best.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/plan/plan_space.hpp>
#include <ashlar/plan/training_plan.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ashlar {

struct planned_step {
  training_plan plan;
  double bound = 0;    // seconds that no schedule of these stages is below
  double seconds = 0;  // simulated
  int fullest = 0;     // the device that holds most of what it may
  double bytes = 0;    // what it holds
  double budget = 0;   // and may
  double catalog = 0;  // seconds before the search, if that found a better order
  schedule passes{};   // that order; empty: that of the catalog
};

// What a planner is at: it weighs all plans, then simulates some.
enum class plan_phase : unsigned char { weighing, simulating };

struct plan_answer {
  std::vector<planned_step> best;      // by seconds, or seconds times devices
  std::vector<planned_step> fitting;   // all that fit, by bounds; not all are simulated
  std::vector<planned_step> rejected;  // do not fit; by bytes, as a share of what the device may hold
  int simulated = 0, ruled_out = 0;    // by their bound
};

// What the fullest device of a plan holds, of a schedule of its passes.
constexpr void weigh(plan_question const& q, schedule const& s, planned_step& step) {
  std::vector<byte_count> const peaks = peak_memory(s, bytes_of(q, step.plan));
  std::vector<double> const budgets = budgets_of(q, step.plan);
  step.bytes = 0;
  step.budget = budgets[0];
  for (std::size_t d = 0; d < peaks.size(); ++d)
    if (static_cast<double>(peaks[d]) / budgets[d] > step.bytes / step.budget) {
      step.bytes = static_cast<double>(peaks[d]);
      step.budget = budgets[d];
      step.fullest = static_cast<int>(d);
    }
}

// What the question wants small.
constexpr double worth(plan_question const& q, training_plan const& plan, double seconds) {
  return q.objective == plan_objective::time ? seconds : seconds * plan.device_count();
}

namespace plan_detail {

// Schedules by shape: plans of one shape have the same passes.
class known_schedules {
 public:
  constexpr schedule const& of(training_plan const& plan) {
    int const m = enough_micro_batches(plan);
    for (shape const& k : known_)
      if (k.entry == plan.entry && k.p == plan.layout.pipeline && k.m == m && k.v == plan.chunks
          && k.pieces == plan.sequence_chunks)
        return k.passes;
    known_.push_back(
        {plan.entry, plan.layout.pipeline, m, plan.chunks, plan.sequence_chunks, passes_of(plan, m)});
    return known_.back().passes;
  }

 private:
  struct shape {
    catalog::entry const* entry;
    int p, m, v, pieces;
    schedule passes;
  };
  std::vector<shape> known_;
};

constexpr void insert_by_worth(plan_question const& q, planned_step const& step, std::size_t top,
                               std::vector<planned_step>& best) {
  std::size_t at = best.size();
  double const own = worth(q, step.plan, step.seconds);
  while (at > 0 && own < worth(q, best[at - 1].plan, best[at - 1].seconds)) --at;
  best.push_back(step);
  for (std::size_t j = best.size() - 1; j > at; --j) std::swap(best[j], best[j - 1]);
  if (best.size() > top) best.pop_back();
}

}  // namespace plan_detail

// The `top` plans of least simulated time. Plans are simulated in the order of their bounds until the
// next bound is no less than the worst of the best so far: none that is left out is better. `tell(phase,
// done, of)` is called after each. Seconds for hundreds of devices.
template <class Tell>
constexpr plan_answer answer(plan_question const& q, std::vector<catalog::entry const*> const& entries,
                             std::size_t top, Tell tell) {
  plan_answer made;
  plan_detail::known_schedules known;
  std::vector<training_plan> const all = all_plans(q, entries);
  for (training_plan const& plan : all) {
    planned_step step{.plan = plan};
    weigh(q, known.of(plan), step);
    tell(plan_phase::weighing, made.fitting.size() + made.rejected.size() + 1, all.size());
    step.bound = least_seconds(q, plan);
    (step.bytes > step.budget ? made.rejected : made.fitting).push_back(step);
  }
  merge_sort(made.fitting, [&](planned_step const& a, planned_step const& b) {
    return worth(q, a.plan, a.bound) < worth(q, b.plan, b.bound);
  });
  merge_sort(made.rejected, [](planned_step const& a, planned_step const& b) {
    return a.bytes / a.budget < b.bytes / b.budget;
  });
  for (std::size_t i = 0; i < made.fitting.size(); ++i) {
    planned_step& step = made.fitting[i];
    if (made.best.size() == top
        && worth(q, step.plan, step.bound)
               >= worth(q, made.best.back().plan, made.best.back().seconds)) {
      made.ruled_out = static_cast<int>(made.fitting.size() - i);
      break;
    }
    step.seconds = simulated_seconds(q, step.plan);
    ++made.simulated;
    plan_detail::insert_by_worth(q, step, top, made.best);
    tell(plan_phase::simulating, i + 1, made.fitting.size());
  }
  return made;
}

// Looks for a better order of the plan's passes, with backwards split, within the memory of each device;
// the step has it where its program is simulated to be shorter. Nothing changes without a budget.
constexpr void improve_step(plan_question const& q, planned_step& step, std::int64_t passes) {
  if (passes <= 0 || step.plan.layout.pipeline == 1) return;
  std::vector<stage_seconds> const times = times_of(q, step.plan);
  schedule const s = split_backward(passes_of(step.plan, step.plan.micro_batches));
  if (!can_be_improved(s)) return;
  memory_limit limit{.memory = bytes_of(q, step.plan), .budget = {}};
  for (double each : budgets_of(q, step.plan)) limit.budget.push_back(static_cast<byte_count>(each));
  schedule found = improve({retime(s, costs_of(q, step.plan))}, limit,
                           {.passes = passes, .aim = objective::makespan});
  double const seconds = simulated_step(found, times, message_mode::beside);
  if (!is_within(found, limit) || seconds >= step.seconds) return;
  step.catalog = step.seconds;
  step.seconds = seconds;
  step.passes = static_cast<schedule&&>(found);
  weigh(q, step.passes, step);
}

// The order of the passes of a step.
constexpr schedule passes_of(planned_step const& step) {
  if (!step.passes.order.empty()) return step.passes;
  return passes_of(step.plan, step.plan.micro_batches);
}

// The rule of layout.hpp by which one plan is tried before another. Sequence parallelism decides
// nothing: all that split layers have it.
constexpr layout_reason comes_before(plan_question const& q, training_plan const& a,
                                     training_plan const& b) {
  training_layout first = a.layout, second = b.layout;
  first.sequence_parallel = second.sequence_parallel = false;
  return comes_before(first, second, is_long_or_large(q.model));
}

// Whether the study behind these rules had it: it shared the optimizer at most.
constexpr bool rules_know(training_plan const& plan) {
  return plan.sharding == sharding_level::none || plan.sharding == sharding_level::optimizer;
}

// The plan that these rules try first among those that fit and that they know: of the first layout, the
// one of least simulated time. Without an entry if there is none. O(plans) and the simulations of that
// layout.
constexpr planned_step tried_first(plan_question const& q, plan_answer const& a) {
  planned_step first;
  for (planned_step const& each : a.fitting)
    if (rules_know(each.plan)
        && (first.plan.entry == nullptr
            || comes_before(q, each.plan, first.plan) != layout_reason::none))
      first = each;
  for (planned_step const& each : a.fitting)
    if (rules_know(each.plan) && each.plan.layout == first.plan.layout) {
      planned_step simulated = each;
      if (!(simulated.seconds > 0)) simulated.seconds = simulated_seconds(q, simulated.plan);
      if (!(first.seconds > 0) || simulated.seconds < first.seconds) first = simulated;
    }
  return first;
}

}  // namespace ashlar
