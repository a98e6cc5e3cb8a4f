// Definitions of fill.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/fill/best_fit.hpp>
#include <ashlar/fill/exact_fit.hpp>
#include <ashlar/fill/fill.hpp>
#include <ashlar/fill/first_fit.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/tables.hpp>

#include <cstddef>
#include <cstdint>

namespace ashlar {

ASHLAR_INLINE schedule repeated(schedule const& step, int count) {
  if (count < 2) return step;
  auto const passes = static_cast<std::int64_t>(pass_count(step));
  must_be(at_most(parameter::micro_batch_count, count, most_passes / max_of<std::int64_t>(1, passes)));
  schedule const half = repeated(step, count / 2);
  schedule all = then(half, half);
  return count % 2 == 0 ? all : then(all, step);
}

ASHLAR_INLINE schedule with_parts(schedule s, work_graph const& work, part_times const& times) {
  int const jobs = s.work.job_count();
  s.work = overlay(s.work, work, 0);
  std::vector<dynamic_array<keyed_index>> parts(s.order.size());
  for (int number = 0; number < times.count(); ++number)
    if (!times.is_collective(number))
      nth(parts, times.device(number))
          .push_back({times.start(number), static_cast<std::size_t>(number)});
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    sort_by_key(parts[d]);
    std::vector<time_slot> order;
    std::size_t next = 0;
    for (keyed_index const& part : parts[d]) {
      while (next < s.order[d].size() && s.end_of(s.order[d][next], static_cast<int>(d)) <= part.key)
        order.push_back(s.order[d][next++]);
      part_id what = times.what(static_cast<int>(part.index));
      what.job += jobs;
      order.push_back({what, part.key});
    }
    while (next < s.order[d].size()) order.push_back(s.order[d][next++]);
    s.order[d] = std::move(order);
  }
  return s;
}

ASHLAR_INLINE diagnosis check_limit(schedule const& filled, int own_jobs, fill_options const& o) {
  if (o.limit.budget.empty()) return {};
  std::vector<job_bytes> bytes(static_cast<std::size_t>(own_jobs), job_bytes{});
  for (job_bytes const& b : o.work_bytes) bytes.push_back(b);
  std::vector<byte_count> const peaks = peak_memory(filled, o.limit.memory, bytes);
  for (int d = 0; d < filled.device_count(); ++d)
    if (byte_count const peak = nth(peaks, d); peak > o.limit.budget_of(d))
      return {.broken = rule::memory_is_within_budget, .first = {.device = d}, .number = peak};
  return {};
}

ASHLAR_INLINE std::vector<int> steps_of(schedule const& step, tick length, part_times& times,
                                        fill_options const& o) {
  if (o.policy == fill_policy::first_fit) return first_fit_walk(step, length, times, o).run();
  if (o.policy == fill_policy::exact) return exact_fit(step, length, times, o).run();
  return best_fit_packing(step, length, times, o).run();
}

ASHLAR_INLINE filling fill_steps(schedule step, work_graph const& work, fill_options const& o) {
  if (diagnosis const d = check(step); !d.ok()) refuse(d);
  if (o.period < 0 || o.margin < 0)
    refuse({.broken = rule::counts_are_positive, .number = min_of(o.period, o.margin)});
  if (!o.limit.budget.empty())
    if (diagnosis const d = check(o.limit, step.where, step.micro_batch_count(),
                                  step.graph.sequence_chunks(), step.mode);
        !d.ok())
      refuse(d);
  if (diagnosis const d = check_work_bytes(o.work_bytes); !d.ok()) refuse(d);
  tick first = 0;
  for (auto const& order : step.order)
    if (!order.empty()) first = min_of(first, order.front().start);
  if (first < 0) step = shift(std::move(step), -first);
  tick const length = makespan(step);

  part_times times(step, work.view());
  std::vector<int> steps = steps_of(step, length, times, o);
  int most = 1;
  for (int count : steps) most = max_of(most, count);
  if (o.period != 0 && most > o.period)
    refuse({.broken = rule::parameter_is_at_least,
            .number = most,
            .which = parameter::work_period,
            .given = o.period});
  int const count = max_of(most, o.period);
  std::size_t const passes = 1 + pass_count(step);
  must_be(at_most(parameter::work_period, count, static_cast<int>(most_passes / passes)));
  if (saturating_product(count, length) >= max_tick)
    refuse({.broken = rule::ticks_fit, .number = length});
  append_rest(times, step.device_count(), count * length);
  schedule filled = repeated(step, count);
  int const own_jobs = filled.work.job_count();
  if (!work.empty()) filled = with_parts(std::move(filled), work, times);
  bool const may_be_early =
      o.policy == fill_policy::first_fit && o.ready == fill_readiness::published_counts;
  diagnosis const d = may_be_early ? check_passes(filled) : check(filled);
  if (!d.ok()) refuse(d);
  if (diagnosis const over = check_limit(filled, own_jobs, o); !over.ok()) refuse(over);
  return {std::move(filled), std::move(steps), length};
}

ASHLAR_INLINE double utilisation(filling const& f, int device) {
  must_have_form(f.filled);
  if (device < 0 || device >= f.filled.device_count())
    refuse({.broken = rule::every_pass_is_known, .first = {.device = device}});
  if (f.steps.size() != f.filled.order.size())
    refuse(wrong_size(table::device_orders, f.steps.size(), f.filled.device_count()));
  auto const d = static_cast<std::size_t>(device);
  if (f.steps[d] < 0 || f.step < 0 || (f.steps[d] > 0 && f.step >= max_tick / f.steps[d]))
    refuse({.broken = rule::ticks_fit, .number = f.step});
  tick const end = f.steps[d] * f.step;
  // A step may last until the first pass of the next one (fill_options::interlocked).
  tick first = max_tick;
  for (time_slot const& t : f.filled.order[d])
    if (!is_part(t.what)) first = min_of(first, t.start);
  tick const next = end + max_of<tick>(0, min_of(first, f.step));
  tick busy = 0;
  for (time_slot const& t : f.filled.order[d]) {
    bool const is_in = t.start < (is_part(t.what) ? next : end);
    if (is_in) busy += min_of(f.filled.end_of(t, device), next) - t.start;
  }
  return end == 0 ? 0 : static_cast<double>(busy) / static_cast<double>(end);
}

}  // namespace ashlar
