// Definitions of part_times.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/fill/part_times.hpp>

namespace ashlar {

ASHLAR_INLINE part_times::part_times(schedule const& step, work_view const& work)
    : work_(work),
      ids_(work.parts.size()),
      before_(work.parts.size(), nobody),
      released_(work.parts.size(), 0),
      counted_(work.parts.size(), 0),
      deadlines_(work.parts.size(), never),
      starts_(work.parts.size(), never),
      needed_by_pipeline_(work.parts.size(), false) {
  for (int job = 0, number = 0; job < work.job_count(); ++job)
    for (int k = 0; k < work.part_count(job); ++k, ++number) enter({job, k}, step);
  result_table<pass_times> times(step.stage_count(), step.micro_batch_count(), {});
  for (int d = 0; d < step.device_count(); ++d)
    for (timed_pass const t : each_pass(nth(step.order, d)))
      if (!is_part(t.what))
        times.at(t.what.micro_batch, t.what.stage, result_of(t.what.kind)) = {t.start,
                                                                              step.end_of(t, d)};
  for (work_edge const& e : work.into) {
    if (!is_part(e.from)) {
      std::size_t const to = index(part_of(e.to));
      released_[to] = max_of(released_[to], time_of(e.from, step, times).end);
      counted_[to] = max_of(counted_[to], end_by_count(step, e.from.kind, to));
    } else if (!is_part(e.to)) {
      std::size_t const from = index(part_of(e.from));
      deadlines_[from] = min_of(deadlines_[from], time_of(e.to, step, times).start);
      needed_by_pipeline_[from] = true;
    }
  }
  for (int number = count(); number-- > 0;)
    if (is_needed_by_pipeline(number))
      for_each_before(number, [&](int from) { nth(needed_by_pipeline_, from) = true; });
}

ASHLAR_INLINE tick part_times::work_is_there(int number) const {
  tick at = before(number) == nobody ? 0 : end(before(number));
  for_each_work_input(work_, what(number), [&](pass from, tick delay) {
    if (is_part(from)) at = max_of(at, saturating_sum(end(work_.number(part_of(from))), delay));
  });
  return at;
}

ASHLAR_INLINE void part_times::enter(part_id id, schedule const& step) {
  std::size_t const number = index(id);
  ids_[number] = id;
  if (work_.part(id).device >= step.device_count())
    refuse(
        {.broken = rule::every_pass_is_known, .first = {.device = work_.part(id).device, .what = id}});
  for (part_id earlier = id; earlier.part-- > 0 && before_[number] == nobody;)
    if (work_.part(earlier).device == work_.part(id).device) before_[number] = work_.number(earlier);
}

ASHLAR_INLINE part_times::pass_times part_times::time_of(pass what, schedule const& step,
                                                         result_table<pass_times> const& times) const {
  pass_times found;
  if (step.graph.has(what, step.micro_batch_count()))
    found = times.at(what.micro_batch, what.stage, result_of(what.kind));
  if (found.end == never) refuse({.broken = rule::every_pass_is_known, .first = {.what = what}});
  return found;
}

ASHLAR_INLINE tick part_times::end_by_count(schedule const& step, pass_kind kind,
                                            std::size_t number) const {
  int left = 0;
  for (int i = static_cast<int>(number); i != nobody; i = before(i)) ++left;
  int const device = work_.parts[number].device;
  for (timed_pass const t : each_pass(nth(step.order, device)))
    if (t.what.kind == kind && nth(step.route, t.what.micro_batch) == 0 && --left == 0)
      return step.end_of(t, device);
  return never;
}

ASHLAR_INLINE void append_rest(part_times& times, int device_count, tick end) {
  dynamic_array<tick> free(static_cast<std::size_t>(device_count), end);
  auto const of = [&](int number) -> tick& { return nth(free, times.device(number)); };
  for (int number = 0; number < times.count(); ++number)
    if (times.is_placed(number)) of(number) = max_of(of(number), times.end(number));
  for (int number = 0; number < times.count(); ++number) {
    if (times.is_collective(number) || times.is_placed(number)) continue;
    times.place(number, max_of(of(number), times.ready(number)));
    of(number) = times.end(number);
  }
}

}  // namespace ashlar
