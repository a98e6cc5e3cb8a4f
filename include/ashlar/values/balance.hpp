// The load of experts over a whole batch, as work beside the passes of a schedule.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/pipe.hpp>
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

// For load balancing over global batches (Qiu et al., arXiv 2501.11873), on each of the stages:
//   count  after each forward: reads its stash, and hands on how many tokens it sent to each expert;
//   an all-reduce of these counts over the data-parallel ranks, one for each micro-batch;
//   add    adds the sum to the job's state, which is cleared after the step;
//   show   before each backward (fused or of the input): hands on a copy of the state, which that
//          backward reads in its work_inputs.
// A backward is shown the counts of all micro-batches whose add stands before it: those that are known
// when it starts if work took no time but all-reduces (coverage() with their duration), and always its
// own. Each stage has three jobs and as many all-reduces as micro-batches, in this order: count, the
// all-reduces, and one job of add (parts 0 ... m-1) and show (m ... 2m-1). Squeezed. For training on one
// route. Throws violation with check(s), rule::every_pass_is_present for inference,
// rule::parameter_is_at_most for several routes, rule::work_uses_what_exists for a stage that there is
// not, and rule::work_reads_what_its_device_keeps where forwards are run again or cover several
// micro-batches. O(n log n) in passes.
constexpr schedule balance_experts(schedule s, std::vector<int> const& stages_with_experts,
                                   balancing_costs const& ticks = {}) {
  if (diagnosis const d = check_trains_on_one_route(s); !d.ok()) throw violation{d};
  int const m = s.micro_batch_count();
  std::vector<work_job> jobs = s.work.jobs();
  std::vector<work_edge> edges = s.work.edges();
  timed_work work(s);
  auto const part = [](int job, int k) { return pass{pass_kind::work, job, k}; };
  for (int stage : stages_with_experts) {
    if (stage < 0 || stage >= s.stage_count())
      throw violation{{.broken = rule::work_uses_what_exists, .number = stage}};
    int const device = s.where.device_of(0, stage), counts = static_cast<int>(jobs.size()),
              sums = counts + 1, totals = sums + m;
    if (s.graph.size_of(stage) > 1)
      throw violation{{.broken = rule::work_reads_what_its_device_keeps,
                       .first = {.device = device, .what = {pass_kind::forward, stage, 0}}}};
    jobs.push_back(
        {.parts = std::vector<work_part>(static_cast<std::size_t>(m), {device, ticks.count})});
    for (int k = 0; k < m; ++k) {
      jobs.push_back(
          {.parts = {{device, ticks.all_reduce}}, .kind = job_kind::all_reduce, .over_ranks = true});
      edges.push_back({{pass_kind::forward, stage, k}, part(counts, k)});
      edges.push_back({part(counts, k), part(sums + k, 0)});
      edges.push_back({part(sums + k, 0), part(totals, k)});
    }
    jobs.push_back(
        {.parts = std::vector<work_part>(static_cast<std::size_t>(2 * m), {device, ticks.add}),
         .keeps_state = true,
         .clears_state = true});
    for (int k = 0; k < m; ++k) jobs.back().parts[static_cast<std::size_t>(m + k)].duration = ticks.show;
    // An add is wanted when its counts are known, and no later than its own backward.
    std::vector<tick> known(static_cast<std::size_t>(m), 0), used = known;
    for (timed_pass const& t : s.order[static_cast<std::size_t>(device)]) {
      if (t.what.kind == pass_kind::work || t.what.stage != stage) continue;
      auto const k = static_cast<std::size_t>(t.what.micro_batch);
      if (t.what.kind == pass_kind::forward) known[k] = s.end_of(t, device);
      if (!gives_input_gradient(t.what.kind)) continue;
      used[k] = t.start;
      edges.push_back({part(totals, m + t.what.micro_batch), t.what});
    }
    for (int k = 0; k < m; ++k) {
      auto const at = static_cast<std::size_t>(k);
      work.add(device, known[at], 0, part(counts, k));
      work.add(device, min_of(known[at] + ticks.all_reduce, used[at]), 1, part(totals, k));
      work.add(device, used[at], 2, part(totals, m + k));
    }
  }
  s.work = work_graph(jobs, edges);
  s.order = work.orders();
  return squeeze(std::move(s));
}

constexpr auto balance_experts(std::vector<int> stages_with_experts, balancing_costs const& ticks = {}) {
  return closure([=](schedule const& s) { return balance_experts(s, stages_with_experts, ticks); });
}

}  // namespace ashlar
