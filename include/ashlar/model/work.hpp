// Work as a value: a graph of jobs that is right by construction.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/moved_times.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/model/work_view.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// The jobs, and who reads what. Empty unless a schedule has work.
class work_graph {
 public:
  constexpr work_graph() = default;

  // Throws violation:
  //   rule::counts_are_positive for a job without parts;
  //   rule::every_pass_is_known for a part on no device, and for an edge of a part that there is not;
  //   rule::no_duration_is_negative for a part of less than a tick, of a collective of less than none;
  //   rule::ticks_fit for durations too long to be added up;
  //   rule::work_edges_ascend for an edge between two passes of the pipeline, one that is there twice,
  //     and one from work to work that does not come after it, by (job, part);
  //   rule::work_reads_what_its_device_keeps for an edge from a weight pass, and between devices;
  //   rule::collective_work_sums_one_value for a part of a collective that does not read exactly one
  //     value, of a compute job, that nothing else reads (sums are made in place), for two parts on
  //     one device;
  //   rule::work_uses_what_exists for a state that is shared with no earlier job which has its own, and
  //     for a gradient of no stage.
  // O(n log n) in parts and edges.
  constexpr work_graph(std::vector<work_job> const& jobs, std::vector<work_edge> const& edges) {
    for (work_job const& j : jobs) {
      jobs_.push_back({static_cast<int>(parts_.size()), j.does});
      for (work_part const& p : j.parts) parts_.push_back(p);
    }
    check_jobs();
    set_edges({edges.data(), edges.data() + edges.size()});
  }

  constexpr bool empty() const { return jobs_.empty(); }
  constexpr int job_count() const { return static_cast<int>(jobs_.size()); }
  // Requires a job that exists.
  constexpr int part_count(int job) const { return view().part_count(job); }

  // The edges by (from, to). Valid while the graph is.
  constexpr list_view<work_edge> edges() const { return view_of(out_of_); }
  constexpr work_view view() const {
    return {view_of(jobs_), view_of(parts_), view_of(into_), view_of(out_of_)};
  }

  friend constexpr bool operator==(work_graph const&, work_graph const&) = default;

  // Replaces every pass of the pipeline that an edge names by new_name(pass, whether it is read). Jobs
  // and edges stay.
  template <class NewName>
  friend constexpr work_graph renamed(work_graph work, NewName new_name) {
    dynamic_array<work_edge> edges = static_cast<dynamic_array<work_edge>&&>(work.out_of_);
    for (work_edge& e : edges) {
      if (!is_part(e.from)) e.from = new_name(e.from, true);
      if (!is_part(e.to)) e.to = new_name(e.to, false);
    }
    work.set_edges(static_cast<dynamic_array<work_edge>&&>(edges));
    return work;
  }

  // Makes every part take `factor` times as long. Throws violation as stretched() of a time does, and
  // rule::ticks_fit for durations too long to be added up.
  friend constexpr work_graph stretched(work_graph work, tick factor) {
    for (work_part& p : work.parts_) p.duration = ashlar::stretched(p.duration, factor);
    work.check_jobs();
    return work;
  }

  // Mirrors devices: d becomes p - 1 - d.
  friend constexpr work_graph mirror(work_graph work, int device_count) {
    for (work_part& p : work.parts_) p.device = device_count - 1 - p.device;
    work.check_jobs();
    return work;
  }

  // Joins the jobs of `a` and then those of `b`, whose micro-batches are numbered from `first` on.
  friend constexpr work_graph overlay(work_graph a, work_graph const& b, int first) {
    int const jobs = a.job_count(), parts = static_cast<int>(a.parts_.size());
    for (work_view::job j : b.jobs_) {
      j.first_part += parts;
      j.does = j.does.visit([&](compute_job own) { return job_action(later(own, jobs)); },
                            [](all_reduce_job own) { return job_action(own); });
      a.jobs_.push_back(j);
    }
    for (work_part const& p : b.parts_) a.parts_.push_back(p);
    a.check_jobs();
    for (work_edge e : b.out_of_) {
      for (pass* what : {&e.from, &e.to})
        if (is_part(*what))
          *what = part_id{part_of(*what).job + jobs, part_of(*what).part};
        else
          what->micro_batch += first;
      a.out_of_.push_back(e);
    }
    a.set_edges(static_cast<dynamic_array<work_edge>&&>(a.out_of_));
    return a;
  }

 private:
  // Renumbers the jobs that a job names by an offset.
  static constexpr compute_job later(compute_job j, int more) {
    if (auto const* const shared = j.state.get_if<shared_state>())
      j.state = shared_state{shared->of + more};
    return j;
  }

  constexpr void check_jobs() const {
    work_view const v = view();
    tick sum = 0;
    for (int number = 0; number < job_count(); ++number) {
      part_id id{number, 0};
      site where{.what = id};
      if (v.part_count(number) == 0) refuse({.broken = rule::counts_are_positive, .first = where});
      if (!uses_what_exists(number)) refuse({.broken = rule::work_uses_what_exists, .first = where});
      for (; id.part < v.part_count(number); ++id.part) {
        work_part const& p = v.part(id);
        where = {.device = p.device, .what = id};
        if (p.device < 0) refuse({.broken = rule::every_pass_is_known, .first = where});
        if (p.duration < (v.is_collective(number) ? 0 : 1))
          refuse({.broken = rule::no_duration_is_negative, .first = where, .number = p.duration});
        sum = saturating_sum(sum, min_of(p.duration, max_tick));
      }
    }
    if (sum >= max_tick) refuse({.broken = rule::ticks_fit, .number = sum});
  }

  constexpr bool uses_what_exists(int number) const {
    compute_job const* const j = view().of(number).does.get_if<compute_job>();
    if (j == nullptr) return true;
    bool const has_state = j->state.visit(
        [](no_state) { return true; }, [](own_state) { return true; },
        [&](shared_state s) { return s.of >= 0 && s.of < number && view().keeps_state(s.of); });
    return has_state
           && j->gradient.visit([](no_gradient) { return true; },
                                [](auto const& used) { return used.stage >= 0; });
  }

  constexpr void set_edges(dynamic_array<work_edge> edges) {
    out_of_ = edges;
    into_ = static_cast<dynamic_array<work_edge>&&>(edges);
    merge_sort(into_, [](work_edge const& a, work_edge const& b) {
      return a.to == b.to ? precedes(a.from, b.from) : precedes(a.to, b.to);
    });
    merge_sort(out_of_, [](work_edge const& a, work_edge const& b) {
      return a.from == b.from ? precedes(a.to, b.to) : precedes(a.from, b.from);
    });
    for (std::size_t i = 0; i < into_.size(); ++i)
      check_edge(into_[i], i > 0 && into_[i] == into_[i - 1]);
    for (int number = 0; number < job_count(); ++number)
      if (view().is_collective(number)) check_collective(number);
  }

  constexpr void check_edge(work_edge const& e, bool doubled) const {
    bool const from = is_part(e.from), to = is_part(e.to);
    site const first{.device = from && view().knows(e.from) ? view().part(part_of(e.from)).device : -1,
                     .what = e.from},
        second{.device = to && view().knows(e.to) ? view().part(part_of(e.to)).device : -1,
               .what = e.to};
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
      part_id const what{job, k};
      list_view<work_edge> const read = v.inputs(what);
      bool sums_one = read.size() == 1 && is_part(read[0].from) && !v.is_collective(read[0].from)
                      && v.readers(read[0].from).size() == 1;
      for (int other = 0; other < k; ++other)
        sums_one = sums_one && v.part({job, other}).device != v.part(what).device;
      if (!sums_one)
        refuse({.broken = rule::collective_work_sums_one_value,
                .first = {.device = v.part(what).device, .what = what},
                .number = static_cast<std::int64_t>(read.size())});
    }
  }

  dynamic_array<work_view::job> jobs_;
  dynamic_array<work_part> parts_;
  dynamic_array<work_edge> into_, out_of_;
};

}  // namespace ashlar
