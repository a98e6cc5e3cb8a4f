// Work that other systems fill in beside the passes of the pipeline: jobs, their parts, what parts read
// and write, and who reads what they write.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/list_view.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
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

// Which jobs there are and who reads what. Empty unless a schedule has work.
class work_graph {
 public:
  constexpr work_graph() = default;

  // Throws violation:
  //   rule::counts_are_positive for a job without parts;
  //   rule::every_pass_is_known for a part on no device, and for an edge of a part that there is not;
  //   rule::durations_are_positive for a part of less than a tick, of a collective of less than none;
  //   rule::ticks_fit for durations too long to be added up;
  //   rule::work_edges_ascend for an edge between two passes of the pipeline, one that is there twice,
  //     and one from work to work that does not come after it, by (job, part);
  //   rule::work_reads_what_its_device_keeps for an edge from a weight pass, and between devices;
  //   rule::collective_work_sums_one_value for a part of a collective that does not read exactly one
  //     value, of a compute job, that is read by nobody else (sums are made in place), for two parts on
  //     one device, and for state;
  //   rule::work_uses_what_exists for a state that is shared with no earlier job which keeps one, that
  //   is
  //     cleared and not kept, and for a gradient of no stage.
  // O(n log n) in parts and edges.
  constexpr work_graph(std::vector<work_job> const& jobs, std::vector<work_edge> const& edges)
      : into_(edges), out_of_(edges) {
    tick sum = 0;
    for (work_job const& j : jobs) {
      int const number = static_cast<int>(jobs_.size());
      site where{.what = {pass_kind::work, number, 0}};
      if (j.parts.empty()) refuse({.broken = rule::counts_are_positive, .first = where});
      if (!uses_what_exists(j)) refuse({.broken = rule::work_uses_what_exists, .first = where});
      jobs_.push_back({static_cast<int>(parts_.size()), j.kind, j.keeps_state, j.over_ranks,
                       j.clears_state, j.shares_state_of, j.gradient, j.stage});
      for (work_part const& p : j.parts) {
        where.device = p.device;
        if (p.device < 0) refuse({.broken = rule::every_pass_is_known, .first = where});
        if (p.duration < (j.kind == job_kind::compute ? 1 : 0))
          refuse({.broken = rule::durations_are_positive, .first = where, .number = p.duration});
        sum = saturating_sum(sum, min_of(p.duration, max_tick));
        parts_.push_back(p);
        ++where.what.micro_batch;
      }
    }
    if (sum >= max_tick) refuse({.broken = rule::ticks_fit, .number = sum});
    merge_sort(into_, [](work_edge const& a, work_edge const& b) {
      return a.to == b.to ? precedes(a.from, b.from) : precedes(a.to, b.to);
    });
    merge_sort(out_of_, [](work_edge const& a, work_edge const& b) {
      return a.from == b.from ? precedes(a.to, b.to) : precedes(a.from, b.from);
    });
    for (std::size_t i = 0; i < into_.size(); ++i)
      check_edge(into_[i], i > 0 && into_[i] == into_[i - 1]);
    for (int number = 0; number < job_count(); ++number)
      if (view().of(number).kind == job_kind::all_reduce) check_collective(number);
  }

  constexpr bool empty() const { return jobs_.empty(); }
  constexpr int job_count() const { return static_cast<int>(jobs_.size()); }
  constexpr int part_count(int job) const { return view().part_count(job); }

  // What it was made from; edges are sorted.
  constexpr std::vector<work_job> jobs() const {
    std::vector<work_job> all;
    for (int number = 0; number < job_count(); ++number) {
      work_view::job const& j = view().of(number);
      work_part const* const first = parts_.data() + j.first_part;
      all.push_back({{first, first + part_count(number)},
                     j.kind,
                     j.keeps_state,
                     j.over_ranks,
                     j.clears_state,
                     j.shares_state_of,
                     j.gradient,
                     j.stage});
    }
    return all;
  }
  constexpr std::vector<work_edge> const& edges() const { return out_of_; }

  // Valid while the graph is.
  constexpr work_view view() const {
    return {view_of(jobs_), view_of(parts_), view_of(into_), view_of(out_of_)};
  }

  friend constexpr bool operator==(work_graph const&, work_graph const&) = default;

 private:
  constexpr bool uses_what_exists(work_job const& j) const {
    bool const shares = j.shares_state_of != -1, uses = j.gradient != gradient_use::none;
    if (shares
        && (j.keeps_state || j.shares_state_of < 0 || j.shares_state_of >= job_count()
            || !view().of(j.shares_state_of).keeps_state))
      return false;
    return (j.kind == job_kind::compute || (!shares && !uses)) && (!uses || j.stage >= 0)
           && (j.keeps_state || !j.clears_state) && j.gradient <= gradient_use::give;
  }

  constexpr void check_edge(work_edge const& e, bool doubled) const {
    bool const from = e.from.kind == pass_kind::work, to = e.to.kind == pass_kind::work;
    site const first{.device = from && view().knows(e.from) ? view().part(e.from).device : -1,
                     .what = e.from},
        second{.device = to && view().knows(e.to) ? view().part(e.to).device : -1, .what = e.to};
    rule broken = rule::none;
    if (e.from.kind > pass_kind::work || e.to.kind > pass_kind::work || (from && !view().knows(e.from))
        || (to && !view().knows(e.to)))
      broken = rule::every_pass_is_known;
    else if (doubled || (!from && !to) || (from && to && !precedes(e.from, e.to)))
      broken = rule::work_edges_ascend;
    else if (e.from.kind == pass_kind::backward_weight || (from && to && first.device != second.device))
      broken = rule::work_reads_what_its_device_keeps;
    if (broken != rule::none) refuse({.broken = broken, .first = first, .second = second});
  }

  constexpr void check_collective(int job) const {
    work_view const v = view();
    for (int k = 0; k < v.part_count(job); ++k) {
      pass const what{pass_kind::work, job, k};
      list_view<work_edge> const read = v.inputs(what);
      bool sums_one = read.size() == 1 && read[0].from.kind == pass_kind::work
                      && !v.is_collective(read[0].from) && v.readers(read[0].from).size() == 1
                      && !v.of(job).keeps_state;
      for (int other = 0; other < k; ++other)
        sums_one = sums_one && v.part({pass_kind::work, job, other}).device != v.part(what).device;
      if (!sums_one)
        refuse({.broken = rule::collective_work_sums_one_value,
                .first = {.device = v.part(what).device, .what = what},
                .number = static_cast<std::int64_t>(read.size())});
    }
  }

  std::vector<work_view::job> jobs_;
  std::vector<work_part> parts_;
  std::vector<work_edge> into_, out_of_;
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

// The same jobs and edges, every pass of the pipeline that an edge names replaced by new_name(pass).
template <class NewName>
constexpr work_graph renamed(work_graph const& work, NewName new_name) {
  if (work.empty()) return work;
  std::vector<work_edge> edges = work.edges();
  for (work_edge& e : edges) {
    if (e.from.kind != pass_kind::work) e.from = new_name(e.from, true);
    if (e.to.kind != pass_kind::work) e.to = new_name(e.to, false);
  }
  return work_graph(work.jobs(), edges);
}

// Device d becomes p - 1 - d.
constexpr work_graph mirror(work_graph const& work, int device_count) {
  std::vector<work_job> jobs = work.jobs();
  for (work_job& j : jobs)
    for (work_part& p : j.parts) p.device = device_count - 1 - p.device;
  return work_graph(jobs, work.edges());
}

// The jobs of `a`, then those of `b`, whose micro-batches are numbered from `first` on.
constexpr work_graph overlay(work_graph const& a, work_graph const& b, int first) {
  std::vector<work_job> jobs = a.jobs();
  std::vector<work_edge> edges = a.edges();
  for (work_job j : b.jobs()) {
    if (j.shares_state_of >= 0) j.shares_state_of += a.job_count();
    jobs.push_back(j);
  }
  for (work_edge e : b.edges()) {
    for (pass* what : {&e.from, &e.to})
      if (what->kind == pass_kind::work)
        what->stage += a.job_count();
      else
        what->micro_batch += first;
    edges.push_back(e);
  }
  return work_graph(jobs, edges);
}

}  // namespace ashlar
