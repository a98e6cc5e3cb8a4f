// When the parts of work can start, and when they do.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/model/dependencies.hpp>
#include <ashlar/model/work.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>

namespace ashlar {

// Parts by their number (work_view::number). Times are those of the first of the repeated steps.
class part_times {
 public:
  static constexpr tick never = max_tick;
  static constexpr int nobody = -1;

  // Calls visit(number) for the parts that it stands after: what it reads (of a sum, what that reads),
  // and the one before it.
  template <class Visit>
  constexpr void for_each_before(int number, Visit&& visit) const {
    if (before(number) != nobody) visit(before(number));
    for_each_work_input(work_, what(number), [&](pass from, tick) {
      if (from.kind == pass_kind::work) visit(work_.number(from));
    });
  }

  // Refers to the work. Throws violation{rule::every_pass_is_known} for an edge of a pass that is not in
  // the step, and for a part on a device that there is not. O((passes + edges) log edges).
  constexpr part_times(schedule const& step, work_view const& work)
      : work_(work),
        passes_(work.parts.size()),
        before_(work.parts.size(), nobody),
        released_(work.parts.size(), 0),
        counted_(work.parts.size(), 0),
        deadlines_(work.parts.size(), never),
        starts_(work.parts.size(), never),
        urgent_(work.parts.size(), false) {
    for (int job = 0, number = 0; job < work.job_count(); ++job)
      for (int k = 0; k < work.part_count(job); ++k, ++number) enter({pass_kind::work, job, k}, step);
    result_table<pass_times> times(step.stage_count(), step.micro_batch_count(), {});
    for (int d = 0; d < step.device_count(); ++d)
      for (timed_pass const& t : nth(step.order, d))
        if (t.what.kind != pass_kind::work)
          times.at(t.what.micro_batch, t.what.stage, result_of(t.what.kind)) = {t.start,
                                                                                step.end_of(t, d)};
    for (work_edge const& e : work.into) {
      if (e.from.kind != pass_kind::work) {
        std::size_t const to = index(e.to);
        released_[to] = max_of(released_[to], time_of(e.from, step, times).end);
        counted_[to] = max_of(counted_[to], end_by_count(step, e.from.kind, to));
      } else if (e.to.kind != pass_kind::work) {
        std::size_t const from = index(e.from);
        deadlines_[from] = min_of(deadlines_[from], time_of(e.to, step, times).start);
        urgent_[from] = true;
      }
    }
    for (int number = count(); number-- > 0;)
      if (is_urgent(number)) for_each_before(number, [&](int from) { nth(urgent_, from) = true; });
  }

  constexpr work_view const& work() const { return work_; }
  constexpr int count() const { return static_cast<int>(passes_.size()); }
  constexpr pass what(int number) const { return nth(passes_, number); }
  constexpr bool is_collective(int number) const { return work_.is_collective(what(number)); }
  constexpr int device(int number) const { return part(number).device; }
  constexpr tick duration(int number) const { return part(number).duration; }
  // The part of the same job before it on its device, or nobody: they go in order, so that state is
  // summed in the order of the parts.
  constexpr int before(int number) const { return nth(before_, number); }
  // When all that it reads of the pipeline is there.
  constexpr tick released(int number) const { return nth(released_, number); }
  // The same as published: by how many passes there have been (fill_readiness::published_counts).
  constexpr tick released_by_count(int number) const { return nth(counted_, number); }
  // When what it gives to the pipeline has to be there.
  constexpr tick deadline(int number) const { return nth(deadlines_, number); }

  // Whether the pipeline waits for it, or for what reads it.
  constexpr bool is_urgent(int number) const { return nth(urgent_, number); }

  constexpr bool is_placed(int number) const { return nth(starts_, number) != never; }
  constexpr tick start(int number) const { return nth(starts_, number); }
  constexpr tick end(int number) const { return saturating_sum(start(number), duration(number)); }
  constexpr void place(int number, tick start) { nth(starts_, number) = start; }

  // When the work that it reads or stands after is done, as far as that is placed: never otherwise.
  constexpr tick work_is_there(int number) const {
    tick at = before(number) == nobody ? 0 : end(before(number));
    for_each_work_input(work_, what(number), [&](pass from, tick delay) {
      if (from.kind == pass_kind::work) at = max_of(at, saturating_sum(end(work_.number(from)), delay));
    });
    return at;
  }
  constexpr tick ready(int number) const { return max_of(released(number), work_is_there(number)); }

 private:
  struct pass_times {
    tick start = never;
    tick end = never;
  };

  constexpr std::size_t index(pass what) const { return static_cast<std::size_t>(work_.number(what)); }
  constexpr work_part const& part(int number) const { return nth(work_.parts, number); }

  constexpr void enter(pass what, schedule const& step) {
    std::size_t const number = index(what);
    passes_[number] = what;
    if (work_.part(what).device >= step.device_count())
      refuse({.broken = rule::every_pass_is_known,
              .first = {.device = work_.part(what).device, .what = what}});
    for (int k = what.micro_batch; k-- > 0 && before_[number] == nobody;) {
      pass const earlier{pass_kind::work, what.stage, k};
      if (work_.part(earlier).device == work_.part(what).device) before_[number] = work_.number(earlier);
    }
  }

  constexpr pass_times time_of(pass what, schedule const& step,
                               result_table<pass_times> const& times) const {
    pass_times found;
    if (what.stage >= 0 && what.stage < step.stage_count() && what.micro_batch >= 0
        && what.micro_batch < step.micro_batch_count())
      found = times.at(what.micro_batch, what.stage, result_of(what.kind));
    if (found.end == never) refuse({.broken = rule::every_pass_is_known, .first = {.what = what}});
    return found;
  }

  // Of the n-th pass of that kind and of route 0 on the part's device, where the part is the n-th of its
  // job there; never if there are not so many.
  constexpr tick end_by_count(schedule const& step, pass_kind kind, std::size_t number) const {
    int left = 0;
    for (int i = static_cast<int>(number); i != nobody; i = before(i)) ++left;
    int const device = work_.parts[number].device;
    for (timed_pass const& t : nth(step.order, device))
      if (t.what.kind == kind && nth(step.route, t.what.micro_batch) == 0 && --left == 0)
        return step.end_of(t, device);
    return never;
  }

  work_view work_;
  dynamic_array<pass> passes_;
  dynamic_array<int> before_;
  dynamic_array<tick> released_, counted_, deadlines_, starts_;
  dynamic_array<bool> urgent_;
};

// Places what has found no gap after `end` and all other parts of its device, in the order of the
// parts.
constexpr void append_rest(part_times& times, int device_count, tick end) {
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
