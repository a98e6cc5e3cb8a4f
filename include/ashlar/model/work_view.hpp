// Work that other systems fill in beside the passes of the pipeline: jobs, their parts, what parts read
// and write, and who reads what they write.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/list_view.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/core/ticks.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Part k of job j is the pass {pass_kind::work, j, k}.
struct work_part {
  int device = 0;
  tick duration = 1;

  friend constexpr bool operator==(work_part const&, work_part const&) = default;
};

enum class job_kind : unsigned char {
  compute,     // each part is a pass of its device's order
  all_reduce,  // the parts, one on each device that takes part, sum element by element what they read,
               // in the order of the parts; as soon as all have it, on the lane of collectives
};

// What the parts of a compute job do with the gradient of a stage, which its passes add up in the
// stage's accumulator.
enum class gradient_use : unsigned char {
  none,
  take,  // part k takes what micro-batch k has added: it copies that and leaves zeros
  read,  // part k, if there is a micro-batch k, reads that copy
  give,  // a part on each holder of the stage puts what is to be reduced in place of all that was taken
};

struct work_job {
  std::vector<work_part> parts;
  job_kind kind = job_kind::compute;
  bool keeps_state = false;   // compute: on each of its devices a slot that keeps its value from step to
                              // step; its parts there add to it in their order
  bool over_ranks = false;    // all_reduce: also over the data-parallel ranks, part by part
  bool clears_state = false;  // of a job that keeps state: it is zeros again after each step
  int shares_state_of = -1;   // compute: an earlier job, whose state its parts use, too
  gradient_use gradient = gradient_use::none;
  int stage = -1;  // that the gradient is of

  friend constexpr bool operator==(work_job const&, work_job const&) = default;
};

// `to` reads what `from` leaves on the same device. From work that is its output; from a forward or
// recompute, the stash of the stage; from a backward or input pass, its weight stash; each of that
// micro-batch.
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
  struct job {
    int first_part = 0;
    job_kind kind = job_kind::compute;
    bool keeps_state = false;
    bool over_ranks = false;
    bool clears_state = false;
    int shares_state_of = -1;
    gradient_use gradient = gradient_use::none;
    int stage = -1;

    friend constexpr bool operator==(job const&, job const&) = default;
  };

  list_view<job> jobs;
  list_view<work_part> parts;
  list_view<work_edge> into;    // by (to, from)
  list_view<work_edge> out_of;  // by (from, to)

  constexpr bool empty() const { return jobs.empty(); }
  constexpr int job_count() const { return static_cast<int>(jobs.size()); }
  constexpr job const& of(int number) const { return nth(jobs, number); }
  constexpr int part_count(int number) const {
    int const end =
        number + 1 < job_count() ? of(number + 1).first_part : static_cast<int>(parts.size());
    return end - of(number).first_part;
  }
  constexpr bool knows(pass what) const {
    return what.kind == pass_kind::work && what.stage >= 0 && what.stage < job_count()
           && what.micro_batch >= 0 && what.micro_batch < part_count(what.stage);
  }
  // The job whose state the parts of a job use; -1: none.
  constexpr int state_of(int number) const {
    return of(number).keeps_state ? number : of(number).shares_state_of;
  }
  // Whether jobs take the gradient of a stage.
  constexpr bool takes_gradient(int stage) const {
    for (job const& j : jobs)
      if (j.gradient == gradient_use::take && j.stage == stage) return true;
    return false;
  }
  // Whether the pass is a part of a job that sums over devices.
  constexpr bool is_collective(pass what) const {
    return what.kind == pass_kind::work && of(what.stage).kind == job_kind::all_reduce;
  }
  // Parts are numbered job by job.
  constexpr int number(pass what) const { return of(what.stage).first_part + what.micro_batch; }
  constexpr work_part const& part(pass what) const { return nth(parts, number(what)); }
  // A collective lasts as long as the longest of its parts; unknown work takes no time.
  constexpr tick duration(pass what) const {
    if (!knows(what)) return 0;
    if (!is_collective(what)) return part(what).duration;
    tick longest = 0;
    for (int k = 0; k < part_count(what.stage); ++k)
      longest = max_of(longest, part({pass_kind::work, what.stage, k}).duration);
    return longest;
  }
  // The edges that end, or begin, at a pass. O(log edges).
  constexpr list_view<work_edge> inputs(pass what) const { return equal(into, &work_edge::to, what); }
  constexpr list_view<work_edge> readers(pass what) const {
    return equal(out_of, &work_edge::from, what);
  }

 private:
  // Of a list sorted by that end.
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
    for (int k = 0; k < work.part_count(e.from.stage); ++k)
      visit(work.inputs({pass_kind::work, e.from.stage, k})[0].from, work.duration(e.from));
  }
}

}  // namespace ashlar
