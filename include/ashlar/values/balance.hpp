// The load of experts over a whole batch, as work in addition to the passes of a schedule.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/pipe.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/work_lists.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/values/one_route.hpp>
#include <ashlar/values/timed_work.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Ticks of balancing for each micro-batch of a stage (count, add, show), and of an all-reduce.
struct balancing_costs {
  tick count = 1;
  tick add = 1;
  tick show = 1;
  tick all_reduce = 0;

  friend constexpr bool operator==(balancing_costs const&, balancing_costs const&) = default;
};

// The tokens whose counts a backward uses (Qiu et al., arXiv 2501.11873, section 3).
enum class balance_scope : unsigned char {
  synchronised,  // of its micro-batch on all data-parallel ranks
  running,       // of all micro-batches known by then, on all ranks
  global,        // of the whole batch
};

namespace balance_detail {

// The jobs that balancing adds to those of a schedule, stage by stage.
class writer {
 public:
  // Refers to the schedule.
  constexpr writer(schedule const& s, balance_scope scope, balancing_costs const& ticks)
      : s_(s),
        ticks_(ticks),
        m_(s.micro_batch_count()),
        running_(scope == balance_scope::running),
        global_(scope == balance_scope::global),
        jobs_(jobs_of(s.work)),
        edges_(edges_of(s.work)),
        work_(s) {}

  // Adds an existing stage. Breaks the rules of balance_experts() that are about single stages.
  constexpr diagnosis add_stage(int stage) {
    device_ = s_.where.device_of(0, stage);
    if (s_.graph.size_of(stage) > 1)
      return {.broken = rule::work_reads_what_its_device_keeps,
              .first = {.device = device_, .what = {pass_kind::forward, stage, 0}}};
    add_jobs();
    if (diagnosis const d = read_passes(stage); !d.ok()) return d;
    place();
    return {};
  }

  // The schedule with all of them, not yet squeezed.
  constexpr schedule made() {
    schedule made = s_;
    made.work = work_graph(jobs_, edges_);
    made.order = work_.orders();
    return made;
  }

 private:
  constexpr void add_job(int parts, tick duration, job_action const& does = compute_job{}) {
    jobs_.push_back(
        {.parts = std::vector<work_part>(static_cast<std::size_t>(parts), {device_, duration}),
         .does = does});
  }

  constexpr void add_jobs() {
    counts_ = static_cast<int>(jobs_.size());
    total_ = counts_ + 1;
    sums_ = counts_ + (global_ ? 2 : 1);
    totals_ = sums_ + m_;
    add_job(m_, ticks_.count);
    if (global_) add_job(1, ticks_.add);
    for (int k = 0; k < (global_ ? 1 : m_); ++k) {
      add_job(1, ticks_.all_reduce, all_reduce_job{.over_ranks = true});
      edges_.push_back({global_ ? part_id{total_, 0} : part_id{counts_, k}, part_id{sums_ + k, 0}});
    }
    if (!running_) return;
    add_job(2 * m_, ticks_.add, compute_job{.state = own_state{.is_cleared = true}});
    for (int k = 0; k < m_; ++k) nth(jobs_.back().parts, m_ + k).duration = ticks_.show;
  }

  // Reads which passes give counts and which read them, and when: known from the end of the forward on,
  // used at the start of the backward.
  constexpr diagnosis read_passes(int stage) {
    known_.assign(static_cast<std::size_t>(m_), 0);
    used_ = known_;
    last_known_ = 0;
    timed_pass first_back{.what = {}, .start = max_tick};
    for (timed_pass const t : each_pass(nth(s_.order, device_))) {
      if (is_part(t.what) || t.what.stage != stage) continue;
      int const k = t.what.micro_batch;
      if (t.what.kind == pass_kind::forward) {
        nth(known_, k) = s_.end_of(t, device_);
        last_known_ = max_of(last_known_, nth(known_, k));
        edges_.push_back({t.what, part_id{counts_, k}});
      }
      if (!gives_input_gradient(t.what.kind)) continue;
      nth(used_, k) = t.start;
      if (t.start < first_back.start) first_back = t;
      edges_.push_back({shown_to(k), t.what});
    }
    if (!global_ || first_back.start >= last_known_) return {};
    return {.broken = rule::counts_are_of_the_whole_batch,
            .first = {.device = device_, .what = first_back.what},
            .number = stage};
  }
  // The counts that the backward of a micro-batch reads.
  constexpr part_id shown_to(int k) const {
    if (running_) return {totals_, m_ + k};
    return {global_ ? sums_ : sums_ + k, 0};
  }

  constexpr void place() {
    for (int k = 0; k < m_; ++k) {
      tick const known = nth(known_, k), used = nth(used_, k);
      work_.add(device_, known, 0, part_id{counts_, k});
      if (global_) edges_.push_back({part_id{counts_, k}, part_id{total_, 0}});
      if (!running_) continue;
      edges_.push_back({part_id{sums_ + k, 0}, part_id{totals_, k}});
      // An add is wanted when its counts are known, and no later than its own backward.
      work_.add(device_, min_of(known + ticks_.all_reduce, used), 1, part_id{totals_, k});
      work_.add(device_, used, 2, part_id{totals_, m_ + k});
    }
    if (global_) work_.add(device_, last_known_, 1, part_id{total_, 0});
  }

  schedule const& s_;
  balancing_costs ticks_;
  int m_;
  bool running_, global_;
  std::vector<work_job> jobs_;
  std::vector<work_edge> edges_;
  timed_work work_;

  // State of the stage at hand.
  int device_ = 0;
  int counts_ = 0, total_ = 0, sums_ = 0, totals_ = 0;  // jobs
  std::vector<tick> known_, used_;                      // by micro-batch
  tick last_known_ = 0;
};

}  // namespace balance_detail

// Adds load balancing over more than a micro-batch, on each of the stages:
//   count  after each forward: reads its stash, and hands on how many tokens it sent to each expert;
//   an all-reduce of these counts over the data-parallel ranks, one for each micro-batch.
// Synchronised, the backward (fused or of the input) of a micro-batch reads that sum in its work_inputs.
// Running, there are
//   add    adds the sum to the job's state, which is cleared after the step;
//   show   before each backward: hands on a copy of the state, which that backward reads.
// A backward is shown the counts of all micro-batches whose add stands before it: those that are known
// when it starts if work took no time but all-reduces (coverage() with their duration), and always its
// own. Globally, there are
//   total  after the last forward: the sum of all counts, of which there is the only all-reduce; all
//          backwards read that.
// Each stage's jobs are in this order; add (parts 0 ... m-1) and show (m ... 2m-1) are one. Squeezed.
// For training on one route. Throws violation with check(s), rule::every_pass_is_present for inference,
// rule::parameter_is_at_most for several routes, rule::work_uses_what_exists for a stage that there is
// not, rule::work_reads_what_its_device_keeps where forwards are run again or cover several
// micro-batches, and rule::counts_are_of_the_whole_batch for global counts where a backward stands
// before a forward. O(n log n) in passes.
constexpr schedule balance_experts(schedule const& s, std::vector<int> const& stages_with_experts,
                                   balance_scope scope = balance_scope::running,
                                   balancing_costs const& ticks = {}) {
  if (diagnosis const d = check_trains_on_one_route(s); !d.ok()) refuse(d);
  for (tick const time : {ticks.count, ticks.add, ticks.show, ticks.all_reduce})
    if (time < 0 || time >= max_tick)
      refuse({.broken = time < 0 ? rule::no_duration_is_negative : rule::ticks_fit, .number = time});
  balance_detail::writer writer(s, scope, ticks);
  for (int const stage : stages_with_experts) {
    if (stage < 0 || stage >= s.stage_count())
      refuse({.broken = rule::work_uses_what_exists, .number = stage});
    if (diagnosis const d = writer.add_stage(stage); !d.ok()) refuse(d);
  }
  schedule made = squeeze(writer.made());
  if (diagnosis const d = check(made); !d.ok()) refuse(d);
  return made;
}

constexpr auto balance_experts(std::vector<int> stages_with_experts,
                               balance_scope scope = balance_scope::running,
                               balancing_costs const& ticks = {}) {
  return closure(
      [=](schedule const& s) { return balance_experts(s, stages_with_experts, scope, ticks); });
}

}  // namespace ashlar
