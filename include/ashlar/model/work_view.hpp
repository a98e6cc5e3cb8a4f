// Work of other systems that is filled in between the passes of the pipeline: jobs, their parts, what
// parts read and write, and who reads what they write.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/list_view.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/model/work_job.hpp>

#include <cstddef>

namespace ashlar {

// `to` reads what `from` leaves on the same device. If `from` is work, that is its output; for a
// forward or recompute, the stash of the stage; for a backward or input pass, its weight stash; each
// of that micro-batch.
struct work_edge {
  pass from;
  pass to;

  friend constexpr bool operator==(work_edge const&, work_edge const&) = default;
};

// The order of passes by kind, stage (job), micro-batch (part).
constexpr bool precedes(pass a, pass b) {
  if (a.kind != b.kind) return a.kind < b.kind;
  return a.stage != b.stage ? a.stage < b.stage : a.micro_batch < b.micro_batch;
}

// Read-only access to a work_graph. All but `knows` are for work that exists.
struct work_view {
  // The action of a job, and where its parts begin in the list of all.
  struct job {
    int first_part = 0;
    job_action does = {};

    friend constexpr bool operator==(job const&, job const&) = default;
  };

  list_view<job> jobs;
  list_view<work_part> parts;
  list_view<work_edge> into;    // by (to, from)
  list_view<work_edge> out_of;  // by (from, to)

  constexpr bool empty() const { return jobs.empty(); }
  constexpr int job_count() const { return static_cast<int>(jobs.size()); }
  // The job of this number, and its number of parts.
  constexpr job const& of(int number) const { return nth(jobs, number); }
  constexpr int part_count(int number) const {
    int const end =
        number + 1 < job_count() ? of(number + 1).first_part : static_cast<int>(parts.size());
    return end - of(number).first_part;
  }
  // Whether there is such a part.
  constexpr bool knows(part_id id) const {
    return id.job >= 0 && id.job < job_count() && id.part >= 0 && id.part < part_count(id.job);
  }
  // Whether the pass is an existing part.
  constexpr bool knows(pass const& what) const { return is_part(what) && knows(part_of(what)); }
  // Whether the parts of a job use state, and which job's that is. O(1).
  constexpr bool uses_state(int number) const { return !state(number).is<no_state>(); }
  constexpr int state_of(int number) const {
    return state(number).visit([&](auto const&) { return number; }, [](shared_state s) { return s.of; });
  }
  // Whether the state is its own.
  constexpr bool keeps_state(int number) const { return state(number).is<own_state>(); }
  // Whether a job has a state that is zeros again after each step.
  constexpr bool clears_state(int number) const { return state(number) == own_state{true}; }
  // How a job uses the gradient of a stage.
  constexpr job_gradient gradient_of(int number) const {
    return of(number).does.visit([](compute_job const& j) { return j.gradient; },
                                 [](all_reduce_job) { return job_gradient(); });
  }
  // Whether jobs take the gradient of a stage. Linear in jobs.
  constexpr bool takes_gradient(int stage) const {
    for (int number = 0; number < job_count(); ++number)
      if (gradient_of(number) == take_gradient{stage}) return true;
    return false;
  }
  // Whether a job sums over devices.
  constexpr bool is_collective(int number) const {
    return of(number).does.visit([](compute_job const&) { return false; },
                                 [](all_reduce_job) { return true; });
  }
  // Whether a job sums over data-parallel ranks.
  constexpr bool spans_ranks(int number) const {
    return of(number).does.visit([](compute_job const&) { return false; },
                                 [](all_reduce_job j) { return j.over_ranks; });
  }
  // Whether the pass is a part of a job that sums over devices.
  constexpr bool is_collective(pass const& what) const {
    return is_part(what) && is_collective(part_of(what).job);
  }
  // Parts are numbered job by job.
  constexpr int number(part_id id) const { return of(id.job).first_part + id.part; }
  constexpr work_part const& part(part_id id) const { return nth(parts, number(id)); }
  // The ticks of a part. A collective lasts as long as the longest of its parts, for any of them;
  // unknown work takes no time.
  constexpr tick duration(part_id id) const {
    if (!knows(id)) return 0;
    if (!is_collective(id.job)) return part(id).duration;
    tick longest = 0;
    for (int k = 0; k < part_count(id.job); ++k) longest = max_of(longest, part({id.job, k}).duration);
    return longest;
  }
  // The edges that end, or begin, at a pass. O(log edges).
  constexpr list_view<work_edge> inputs(pass what) const { return equal(into, &work_edge::to, what); }
  constexpr list_view<work_edge> readers(pass what) const {
    return equal(out_of, &work_edge::from, what);
  }

 private:
  constexpr job_state state(int number) const {
    return of(number).does.visit([](compute_job const& j) { return j.state; },
                                 [](all_reduce_job) { return job_state(); });
  }

  // Edges of a pass, in a list sorted by `end`.
  static constexpr list_view<work_edge> equal(list_view<work_edge> all, pass work_edge::*end,
                                              pass what) {
    auto const below = [&](auto goes_on) {
      std::size_t low = 0, high = all.size();
      while (low < high) {
        std::size_t const middle = low + (high - low) / 2;
        if (goes_on(all[middle].*end))
          low = middle + 1;
        else
          high = middle;
      }
      return all.data() + low;
    };
    return {below([&](pass p) { return precedes(p, what); }),
            below([&](pass p) { return !precedes(what, p); })};
  }
};

// Calls visit(pass, delay) for each pass that `what` waits for because of work: it starts no earlier
// than `delay` ticks after the end of that pass. For a collective, the passes that its parts sum are
// visited.
template <class Visit>
constexpr void for_each_work_input(work_view const& work, pass what, Visit&& visit) {
  if (work.empty()) return;
  for (work_edge const& e : work.inputs(what)) {
    if (!work.is_collective(e.from)) {
      visit(e.from, tick{0});
      continue;
    }
    part_id const sum = part_of(e.from);
    for (int k = 0; k < work.part_count(sum.job); ++k)
      visit(work.inputs(part_id{sum.job, k})[0].from, work.duration(sum));
  }
}

}  // namespace ashlar
