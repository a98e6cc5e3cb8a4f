// Clipping of micro-batches' gradients by their norms, as work in addition to the passes of a schedule.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/pipe.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/model/work_lists.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/values/one_route.hpp>
#include <ashlar/values/timed_work.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Ticks of clipping for each micro-batch of each stage (take, scale) and once (give), and of the
// all-reduces of one number for each micro-batch, and for each stage of one from each rank.
struct clipping_costs {
  tick take = 1;
  tick scale = 1;
  tick give = 1;
  tick norm = 0;
  tick minimum = 0;

  friend constexpr bool operator==(clipping_costs const&, clipping_costs const&) = default;
};

namespace clip_detail {

// The jobs that clipping adds to those of a schedule. Their numbers follow each other: the takes of the
// stages; the sums of devices with several stages, if there are such; the norms of the micro-batches;
// the scales, least norms and gives of the stages.
class writer {
 public:
  // Refers to the schedule.
  constexpr writer(schedule const& s, clipping_costs const& ticks)
      : s_(s),
        ticks_(ticks),
        stages_(s.stage_count()),
        m_(s.micro_batch_count()),
        jobs_(jobs_of(s.work)),
        edges_(edges_of(s.work)),
        work_(s),
        takes_(s.work.job_count()) {
    for (int d = 0; d < s.device_count(); ++d) {
      here_.push_back(stages_on(s.where, d));
      has_sums_ = has_sums_ || here_.back().size() > 1;
    }
    sums_ = takes_ + stages_;
    norms_ = sums_ + (has_sums_ ? 1 : 0);
    scales_ = norms_ + m_;
    minima_ = scales_ + stages_;
    gives_ = minima_ + stages_;
    note_gradients();
  }

  // The schedule with all of them, not yet squeezed.
  constexpr schedule made() {
    add_takes();
    add_norms();
    add_scales();
    add_minima();
    add_gives();
    schedule made = s_;
    made.work = work_graph(jobs_, edges_);
    made.order = work_.orders();
    return made;
  }

 private:
  // The time when the gradient of each micro-batch is there.
  constexpr void note_gradients() {
    there_.assign(static_cast<std::size_t>(stages_ * m_), 0);
    on_device_.assign(static_cast<std::size_t>(s_.device_count() * m_), 0);
    everywhere_.assign(static_cast<std::size_t>(m_), 0);
    for (int d = 0; d < s_.device_count(); ++d)
      for (timed_pass const t : each_pass(nth(s_.order, d))) {
        if (!gives_weight_gradient(t.what.kind)) continue;
        int const k = t.what.micro_batch;
        tick const end = s_.end_of(t, d);
        nth(there_, t.what.stage * m_ + k) = end;
        nth(on_device_, d * m_ + k) = max_of(nth(on_device_, d * m_ + k), end);
        nth(everywhere_, k) = max_of(nth(everywhere_, k), end);
      }
    for (int k = 0; k < m_; ++k)
      if (nth(everywhere_, k) >= nth(everywhere_, last_)) last_ = k;
  }

  constexpr int device_of(int stage) const { return s_.where.device_of(0, stage); }

  // A job of parts on the device of a stage.
  constexpr void add_job(int stage, int parts, tick duration, job_action const& does) {
    jobs_.push_back(
        {.parts = std::vector<work_part>(static_cast<std::size_t>(parts), {device_of(stage), duration}),
         .does = does});
  }

  constexpr void add_takes() {
    for (int stage = 0; stage < stages_; ++stage) {
      add_job(stage, m_, ticks_.take, compute_job{.gradient = take_gradient{stage}});
      for (int k = 0; k < m_; ++k)
        work_.add(device_of(stage), nth(there_, stage * m_ + k), 0, part_id{takes_ + stage, k});
    }
  }

  // On each device the all-reduce sums the output of its one stage, or the sum of its several ones.
  constexpr void add_norms() {
    work_job sum;
    std::vector<work_job> norms(static_cast<std::size_t>(m_),
                                work_job{.parts = {}, .does = all_reduce_job{}});
    for (int d = 0; d < s_.device_count(); ++d) {
      std::vector<int> const& here = nth(here_, d);
      if (here.empty()) continue;
      for (int k = 0; k < m_; ++k) {
        part_id summed{takes_ + here[0], k};
        if (here.size() > 1) {
          summed = {sums_, static_cast<int>(sum.parts.size())};
          sum.parts.push_back({d, 1});
          work_.add(d, nth(on_device_, d * m_ + k), 1, summed);
          for (int const stage : here) edges_.push_back({part_id{takes_ + stage, k}, summed});
        }
        std::vector<work_part>& parts = nth(norms, k).parts;
        part_id const norm{norms_ + k, static_cast<int>(parts.size())};
        parts.push_back({d, ticks_.norm});
        edges_.push_back({summed, norm});
        for (int const stage : here) edges_.push_back({norm, part_id{scales_ + stage, k}});
      }
    }
    if (has_sums_) jobs_.push_back(sum);
    for (work_job const& norm : norms) jobs_.push_back(norm);
  }

  constexpr void add_scales() {
    for (int stage = 0; stage < stages_; ++stage) {
      add_job(stage, m_, ticks_.scale,
              compute_job{.state = own_state{.is_cleared = true}, .gradient = read_gradient{stage}});
      for (int k = 0; k < m_; ++k)
        work_.add(device_of(stage), nth(everywhere_, k), 2, part_id{scales_ + stage, k});
    }
  }

  constexpr void add_minima() {
    for (int stage = 0; stage < stages_; ++stage) {
      add_job(stage, 1, ticks_.minimum, all_reduce_job{.over_ranks = true});
      edges_.push_back({part_id{scales_ + stage, last_}, part_id{minima_ + stage, 0}});
    }
  }

  constexpr void add_gives() {
    for (int stage = 0; stage < stages_; ++stage) {
      add_job(stage, 1, ticks_.give,
              compute_job{.state = shared_state{scales_ + stage}, .gradient = give_gradient{stage}});
      edges_.push_back({part_id{minima_ + stage, 0}, part_id{gives_ + stage, 0}});
      work_.add(device_of(stage), nth(everywhere_, last_), 3, part_id{gives_ + stage, 0});
    }
  }

  schedule const& s_;
  clipping_costs ticks_;
  int stages_, m_;
  std::vector<work_job> jobs_;
  std::vector<work_edge> edges_;
  timed_work work_;
  std::vector<std::vector<int>> here_;  // the stages of each device
  std::vector<tick> there_;             // by stage and micro-batch: when its gradient is there
  std::vector<tick> on_device_;         // of all stages of a device
  std::vector<tick> everywhere_;        // of all stages
  int last_ = 0;                        // the micro-batch whose norm is known last
  bool has_sums_ = false;
  int takes_, sums_ = 0, norms_ = 0, scales_ = 0, minima_ = 0, gives_ = 0;  // the first job of each
};

}  // namespace clip_detail

// Adaptive micro-batch clipping (Wang, arXiv 2408.16204, algorithm 1) in one pass over the gradients:
//   take   after each weight pass: copies the micro-batch's gradient, leaves zeros, and hands on its
//          squared norm; where a device has several stages, a part adds up theirs;
//   norm   an all-reduce over the devices for each micro-batch: the squared norm over all stages;
//   scale  adds the copy, divided by this norm, to the job's state, which also keeps the least norm;
//   least  an all-reduce over the ranks for each stage, of the least norms, each in a place of its own;
//   give   puts the state times the least norm of all into the accumulator, which is reduced then.
// So no gradients are stored but those that wait for their norm: a slot `micro_gradient` each. States
// are cleared after the step. A job's `gradient` says which of these it does. Work stands where it
// would if it took no time, which keeps the order of passes and that of the proofs; squeezed. For
// training on one route. Throws violation with check(s), for inference rule::every_pass_is_present, and
// for several routes rule::parameter_is_at_most, and for stages whose micro-batches differ in size
// rule::taken_gradient_is_whole. O(n log n) in passes.
constexpr schedule clip_micro_batches(schedule const& s, clipping_costs const& ticks = {}) {
  if (diagnosis const d = check_trains_on_one_route(s); !d.ok()) refuse(d);
  for (int stage = 0; stage < s.stage_count(); ++stage)
    if (s.graph.size_of(stage) > 1)
      refuse({.broken = rule::taken_gradient_is_whole,
              .first = {.device = s.where.device_of(0, stage), .what = {pass_kind::backward, stage, 0}},
              .number = stage});
  schedule made = squeeze(clip_detail::writer(s, ticks).made());
  if (diagnosis const d = check(made); !d.ok()) refuse(d);
  return made;
}

constexpr auto clip_micro_batches(clipping_costs const& ticks = {}) {
  return closure([=](schedule const& s) { return clip_micro_batches(s, ticks); });
}

}  // namespace ashlar
