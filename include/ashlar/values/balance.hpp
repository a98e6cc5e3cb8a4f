// The load of experts over a whole batch, as work beside the passes of a schedule.
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
#include <utility>
#include <vector>

namespace ashlar {

// Ticks of what balancing does for each micro-batch of a stage (count, add, show), and of an all-reduce.
struct balancing_costs {
  tick count = 1;
  tick add = 1;
  tick show = 1;
  tick all_reduce = 0;

  friend constexpr bool operator==(balancing_costs const&, balancing_costs const&) = default;
};

// Of which tokens the counts are that a backward uses (Qiu et al., arXiv 2501.11873, section 3).
enum class balance_scope : unsigned char {
  synchronised,  // of its micro-batch on all data-parallel ranks
  running,       // of all micro-batches known by then, on all ranks
  global,        // of the whole batch
};

// For load balancing over more than a micro-batch, on each of the stages:
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
constexpr schedule balance_experts(schedule s, std::vector<int> const& stages_with_experts,
                                   balance_scope scope = balance_scope::running,
                                   balancing_costs const& ticks = {}) {
  if (diagnosis const d = check_trains_on_one_route(s); !d.ok()) refuse(d);
  for (tick const time : {ticks.count, ticks.add, ticks.show, ticks.all_reduce})
    if (time < 0 || time >= max_tick)
      refuse({.broken = time < 0 ? rule::no_duration_is_negative : rule::ticks_fit, .number = time});
  int const m = s.micro_batch_count();
  bool const running = scope == balance_scope::running, global = scope == balance_scope::global;
  std::vector<work_job> jobs = jobs_of(s.work);
  std::vector<work_edge> edges = edges_of(s.work);
  timed_work work(s);
  auto const part = [](int job, int k) { return part_id{job, k}; };
  for (int stage : stages_with_experts) {
    if (stage < 0 || stage >= s.stage_count())
      refuse({.broken = rule::work_uses_what_exists, .number = stage});
    int const device = s.where.device_of(0, stage), counts = static_cast<int>(jobs.size()),
              total = counts + 1, sums = counts + (global ? 2 : 1), totals = sums + m;
    if (s.graph.size_of(stage) > 1)
      refuse({.broken = rule::work_reads_what_its_device_keeps,
              .first = {.device = device, .what = {pass_kind::forward, stage, 0}}});
    auto const add_job = [&](int parts, tick duration, job_action does = compute_job{}) {
      jobs.push_back(
          {.parts = std::vector<work_part>(static_cast<std::size_t>(parts), {device, duration}),
           .does = does});
    };
    add_job(m, ticks.count);
    if (global) add_job(1, ticks.add);
    for (int k = 0; k < (global ? 1 : m); ++k) {
      add_job(1, ticks.all_reduce, all_reduce_job{.over_ranks = true});
      edges.push_back({global ? part(total, 0) : part(counts, k), part(sums + k, 0)});
    }
    if (running) {
      add_job(2 * m, ticks.add, compute_job{.state = own_state{.is_cleared = true}});
      for (int k = 0; k < m; ++k) nth(jobs.back().parts, m + k).duration = ticks.show;
    }
    // An add is wanted when its counts are known, and no later than its own backward.
    std::vector<tick> known(static_cast<std::size_t>(m), 0), used = known;
    tick last_known = 0;
    timed_pass first_back{.what = {}, .start = max_tick};
    for (timed_pass const t : each_pass(nth(s.order, device))) {
      if (is_part(t.what) || t.what.stage != stage) continue;
      int const micro_batch = t.what.micro_batch;
      auto const k = static_cast<std::size_t>(micro_batch);
      if (t.what.kind == pass_kind::forward) {
        known[k] = s.end_of(t, device);
        last_known = max_of(last_known, known[k]);
        edges.push_back({t.what, part(counts, micro_batch)});
      }
      if (!gives_input_gradient(t.what.kind)) continue;
      used[k] = t.start;
      if (t.start < first_back.start) first_back = t;
      edges.push_back({running  ? part(totals, m + micro_batch)
                       : global ? part(sums, 0)
                                : part(sums + micro_batch, 0),
                       t.what});
    }
    if (global && first_back.start < last_known)
      refuse({.broken = rule::counts_are_of_the_whole_batch,
              .first = {.device = device, .what = first_back.what},
              .number = stage});
    for (int k = 0; k < m; ++k) {
      auto const at = static_cast<std::size_t>(k);
      work.add(device, known[at], 0, part(counts, k));
      if (global) edges.push_back({part(counts, k), part(total, 0)});
      if (!running) continue;
      edges.push_back({part(sums + k, 0), part(totals, k)});
      work.add(device, min_of(known[at] + ticks.all_reduce, used[at]), 1, part(totals, k));
      work.add(device, used[at], 2, part(totals, m + k));
    }
    if (global) work.add(device, last_known, 1, part(total, 0));
  }
  s.work = work_graph(jobs, edges);
  s.order = work.orders();
  schedule made = squeeze(std::move(s));
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
