#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/plan/training/plan_sites.hpp>
#include <ashlar/plan/training/plan_space.hpp>
#include <ashlar/plan/training/planner.hpp>
#include <ashlar/plan/training/quantities.hpp>
#include <ashlar/plan/training/training_plan.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <utility>

namespace ashlar::plan_detail {

// Caches schedules by shape: plans of one shape have the same passes.
class known_schedules {
 public:
  schedule const& of(training_plan const& plan);

 private:
  struct shape {
    catalog::entry const* entry;
    int p, m, v, pieces;
    schedule passes;
  };
  std::vector<shape> known_;
};

}  // namespace ashlar::plan_detail

namespace ashlar {

void find_fullest_device(plan_question const& q, schedule const& s, planned_step& step) {
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

}  // namespace ashlar

namespace ashlar::plan_detail {

schedule const& known_schedules::of(training_plan const& plan) {
  int const m = enough_micro_batches(plan);
  for (shape const& k : known_)
    if (k.entry == plan.entry && k.p == plan.layout.pipeline && k.m == m && k.v == plan.chunks
        && k.pieces == plan.sequence_chunks)
      return k.passes;
  known_.push_back(
      {plan.entry, plan.layout.pipeline, m, plan.chunks, plan.sequence_chunks, passes_of(plan, m)});
  return known_.back().passes;
}

void insert_by_objective(plan_question const& q, planned_step const& step, std::size_t top,
                         std::vector<planned_step>& best) {
  std::size_t at = best.size();
  double const own = objective_of(q, step.plan, step.seconds);
  while (at > 0 && own < objective_of(q, best[at - 1].plan, best[at - 1].seconds)) --at;
  best.push_back(step);
  for (std::size_t j = best.size() - 1; j > at; --j) std::swap(best[j], best[j - 1]);
  if (best.size() > top) best.pop_back();
}

}  // namespace ashlar::plan_detail

namespace ashlar {

plan_answer answer(plan_question const& q, std::vector<catalog::entry const*> const& entries,
                   std::size_t top, plan_progress progress) {
  if (top < 1)
    refuse({.broken = rule::parameter_is_at_least, .number = 1, .which = parameter::plan_count});
  plan_answer made;
  plan_detail::known_schedules known;
  std::vector<training_plan> const all = all_plans(q, entries);
  for (training_plan const& plan : all) {
    planned_step step{.plan = plan};
    find_fullest_device(q, known.of(plan), step);
    progress(plan_phase::checking, made.fitting.size() + made.rejected.size() + 1, all.size());
    step.bound = least_seconds(q, plan);
    (step.bytes > step.budget ? made.rejected : made.fitting).push_back(step);
  }
  merge_sort(made.fitting, [&](planned_step const& a, planned_step const& b) {
    return objective_of(q, a.plan, a.bound) < objective_of(q, b.plan, b.bound);
  });
  merge_sort(made.rejected, [](planned_step const& a, planned_step const& b) {
    return a.bytes / a.budget < b.bytes / b.budget;
  });
  for (std::size_t i = 0; i < made.fitting.size(); ++i) {
    planned_step& step = made.fitting[i];
    if (made.best.size() == top
        && objective_of(q, step.plan, step.bound)
               >= objective_of(q, made.best.back().plan, made.best.back().seconds)) {
      made.ruled_out = static_cast<int>(made.fitting.size() - i);
      break;
    }
    step.seconds = simulated_seconds(q, step.plan);
    ++made.simulated;
    plan_detail::insert_by_objective(q, step, top, made.best);
    progress(plan_phase::simulating, i + 1, made.fitting.size());
  }
  return made;
}

void improve_step(plan_question const& q, planned_step& step, std::int64_t passes) {
  if (passes <= 0 || step.plan.layout.pipeline == 1) return;
  std::vector<stage_seconds> const times = times_of(q, step.plan);
  schedule const s = split_backward(passes_of(step.plan, step.plan.micro_batches));
  if (!can_be_improved(s)) return;
  memory_limit limit{.memory = bytes_of(q, step.plan), .budget = {}};
  for (double each : budgets_of(q, step.plan)) limit.budget.push_back(whole_bytes(each));
  std::vector<schedule> const found = improved_within({retime(s, costs_of(q, step.plan))}, limit,
                                                      {.passes = passes, .aim = objective::makespan});
  if (found.empty() || !is_within(found[0], limit)) return;
  double const seconds = simulated_step(found[0], times, message_mode::beside);
  if (seconds >= step.seconds) return;
  step.catalog = step.seconds;
  step.seconds = seconds;
  step.passes = found[0];
  find_fullest_device(q, step.passes, step);
}

layout_reason comes_before(plan_question const& q, training_plan const& a, training_plan const& b) {
  training_layout first = a.layout, second = b.layout;
  first.sequence_parallel = second.sequence_parallel = false;
  return comes_before(first, second, is_long_or_large(q.model));
}

planned_step tried_first(plan_question const& q, plan_answer const& a) {
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
