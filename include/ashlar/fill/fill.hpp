// schedule -> schedule: work of other systems in the gaps.
#pragma once

#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/pipe.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/fill/options.hpp>
#include <ashlar/fill/part_times.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <utility>
#include <vector>

namespace ashlar {

// Repeats the step `count` times, one after another. Throws violation{rule::parameter_is_at_most} for
// more than most_passes.
schedule repeated(schedule const& step, int count);

// Adds work to the schedule at the starts in `times`, in addition to the work that it already has.
schedule with_parts(schedule s, work_graph const& work, part_times const& times);

// Checks the memory of the filled schedule against the limit, if there is one; jobs of the step's own
// work hand on nothing of any size. Schedule and limit are valid.
diagnosis check_limit(schedule const& filled, int own_jobs, fill_options const& o);

// Places all work for which the policy finds a gap; returns the steps that each device takes.
std::vector<int> steps_of(schedule const& step, tick length, part_times& times, fill_options const& o);

// Repeats the step as many times as it takes to do all of the work once in its gaps; no pass of the step
// is moved. Micro-batches that edges of the work name are those of the first step. Parts of one job on
// one device keep their order. Parts longer than every gap come after the last step. Without work it is
// the step itself.
//
// Throws violation: what check(step) and check(result) find wrong (but for early work that
// fill_readiness::published_counts asks for); rule::every_pass_is_known for an edge of a pass that is
// not in the step; rule::no_pass_starts_before_its_input for a pass that reads work which does not come
// before it; rule::parameter_is_at_least with the steps that it takes if the period is shorter; what
// check(memory_limit) finds wrong, and rule::memory_is_within_budget with the device and the bytes that
// it holds if that is above the limit: first_fit and exact do not look for places where it is not;
// rule::parameter_is_at_most for a period of more than most_passes, rule::ticks_fit for one whose time
// cannot be counted; and as the policy does.
filling fill_steps(schedule step, work_graph const& work, fill_options const& o = {});

inline schedule fill(schedule step, work_graph const& work, fill_options const& o = {}) {
  return fill_steps(std::move(step), work, o).filled;
}
inline auto fill(work_graph work, fill_options o = {}) {
  return closure([work = std::move(work), o](auto&& step) {
    return fill(std::forward<decltype(step)>(step), work, o);
  });
}

// Busy share of a device in the steps that it takes. Work that has found no gap in them comes after them
// and does not count. Throws violation: check_form(f.filled), rule::every_pass_is_known for a device
// that does not exist, rule::tables_agree unless each has its steps, rule::ticks_fit for a time of them
// that cannot be counted.
double utilisation(filling const& f, int device);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/fill/fill.ipp>
#endif
