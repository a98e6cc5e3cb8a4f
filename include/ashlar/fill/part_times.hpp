// The times when the parts of work can start, and when they do.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/model/dependencies.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>

namespace ashlar {

// Names parts by their number (work_view::number). Times are those of the first of the repeated steps.
class part_times {
 public:
  static constexpr tick never = max_tick;
  static constexpr int nobody = -1;

  // Calls visit(number) for the parts that it stands after: its inputs (for a sum, the inputs of the
  // sum), and the one before it.
  template <class Visit>
  void for_each_before(int number, Visit&& visit) const {
    if (before(number) != nobody) visit(before(number));
    for_each_work_input(work_, what(number), [&](pass from, tick) {
      if (is_part(from)) visit(work_.number(part_of(from)));
    });
  }

  // Refers to the work. Throws violation{rule::every_pass_is_known} for an edge of a pass that is not in
  // the step, and for a part on an unknown device. O((passes + edges) log edges).
  part_times(schedule const& step, work_view const& work);

  work_view const& work() const { return work_; }
  int count() const { return static_cast<int>(ids_.size()); }
  part_id what(int number) const { return nth(ids_, number); }
  bool is_collective(int number) const { return work_.is_collective(what(number).job); }
  int device(int number) const { return part(number).device; }
  tick duration(int number) const { return part(number).duration; }
  // The part of the same job before it on its device, or none: they go in order, so that state is
  // summed in the order of the parts.
  int before(int number) const { return nth(before_, number); }
  // The time when all its inputs from the pipeline are there.
  tick released(int number) const { return nth(released_, number); }
  // Its release as published: by the number of earlier passes (fill_readiness::published_counts).
  tick released_by_count(int number) const { return nth(counted_, number); }
  // The time when its outputs to the pipeline have to be there.
  tick deadline(int number) const { return nth(deadlines_, number); }

  // Whether a pass of the pipeline reads its output, directly or through other parts.
  bool is_needed_by_pipeline(int number) const { return nth(needed_by_pipeline_, number); }

  bool is_placed(int number) const { return nth(starts_, number) != never; }
  tick start(int number) const { return nth(starts_, number); }
  tick end(int number) const { return saturating_sum(start(number), duration(number)); }
  void place(int number, tick start) { nth(starts_, number) = start; }

  // The time when the work that it reads or stands after is done; `never` if some is not placed.
  tick work_is_there(int number) const;
  tick ready(int number) const { return max_of(released(number), work_is_there(number)); }

 private:
  struct pass_times {
    tick start = never;
    tick end = never;
  };

  std::size_t index(part_id part) const { return static_cast<std::size_t>(work_.number(part)); }
  work_part const& part(int number) const { return nth(work_.parts, number); }

  void enter(part_id id, schedule const& step);

  pass_times time_of(pass what, schedule const& step, result_table<pass_times> const& times) const;

  // The end of the n-th pass of that kind and of route 0 on the part's device, where the part is the
  // n-th of its job there; never if there are fewer.
  tick end_by_count(schedule const& step, pass_kind kind, std::size_t number) const;

  work_view work_;
  dynamic_array<part_id> ids_;
  dynamic_array<int> before_;
  dynamic_array<tick> released_, counted_, deadlines_, starts_;
  dynamic_array<bool> needed_by_pipeline_;
};

// Places parts that have found no gap after `end` and all other parts of their device, in the order of
// the parts.
void append_rest(part_times& times, int device_count, tick end);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/fill/part_times.ipp>
#endif
