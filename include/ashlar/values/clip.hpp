// Clipping of micro-batches' gradients by their norms, as work beside the passes of a schedule.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/pipe.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/model/work_lists.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/values/one_route.hpp>
#include <ashlar/values/timed_work.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// Ticks of what clipping does with each micro-batch of each stage (take, scale) and once (give), and of
// the all-reduces of one number for each micro-batch, and for each stage of one from each rank.
struct clipping_costs {
  tick take = 1;
  tick scale = 1;
  tick give = 1;
  tick norm = 0;
  tick minimum = 0;

  friend constexpr bool operator==(clipping_costs const&, clipping_costs const&) = default;
};

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
constexpr schedule clip_micro_batches(schedule s, clipping_costs const& ticks = {}) {
  if (diagnosis const d = check_trains_on_one_route(s); !d.ok()) refuse(d);
  for (int stage = 0; stage < s.stage_count(); ++stage)
    if (s.graph.size_of(stage) > 1)
      refuse({.broken = rule::taken_gradient_is_whole,
              .first = {.device = s.where.device_of(0, stage), .what = {pass_kind::backward, stage, 0}},
              .number = stage});
  int const stage_count = s.stage_count(), m = s.micro_batch_count(), first = s.work.job_count();
  auto const index = [](int i) { return static_cast<std::size_t>(i); };
  auto const device_of = [&](int stage) { return s.where.device_of(0, stage); };
  // When each micro-batch's gradient of a stage is there, and of all stages (by device, and of all).
  std::vector<tick> there(index(stage_count * m), 0), on_device(index(s.device_count() * m), 0),
      everywhere(index(m), 0);
  for (int d = 0; d < s.device_count(); ++d)
    for (timed_pass const t : each_pass(s.order[index(d)])) {
      if (!gives_weight_gradient(t.what.kind)) continue;
      int const k = t.what.micro_batch;
      tick const end = s.end_of(t, d);
      there[index(t.what.stage * m + k)] = end;
      on_device[index(d * m + k)] = max_of(on_device[index(d * m + k)], end);
      everywhere[index(k)] = max_of(everywhere[index(k)], end);
    }
  int last = 0;  // the micro-batch whose norm is known last
  for (int k = 0; k < m; ++k)
    if (everywhere[index(k)] >= everywhere[index(last)]) last = k;

  std::vector<work_job> jobs = jobs_of(s.work);
  std::vector<work_edge> edges = edges_of(s.work);
  timed_work work(s);
  auto const part = [](int job, int k) { return part_id{job, k}; };
  bool several = false;  // stages on a device
  for (int d = 0; d < s.device_count(); ++d) several = several || stages_on(s.where, d).size() > 1;
  int const sums = first + stage_count, norms = sums + (several ? 1 : 0), scales = norms + m,
            minima = scales + stage_count, gives = minima + stage_count;

  for (int stage = 0; stage < stage_count; ++stage) {
    jobs.push_back({.parts = std::vector<work_part>(index(m), {device_of(stage), ticks.take}),
                    .does = compute_job{.gradient = take_gradient{stage}}});
    for (int k = 0; k < m; ++k)
      work.add(device_of(stage), there[index(stage * m + k)], 0, part(first + stage, k));
  }
  // What the all-reduce sums on each device: what one stage hands on, or the sum of several.
  work_job sum;
  std::vector<work_job> norm(index(m), work_job{.parts = {}, .does = all_reduce_job{}});
  for (int d = 0; d < s.device_count(); ++d) {
    std::vector<int> const here = stages_on(s.where, d);
    if (here.empty()) continue;
    for (int k = 0; k < m; ++k) {
      pass summed = part(first + here[0], k);
      if (here.size() > 1) {
        summed = part(sums, static_cast<int>(sum.parts.size()));
        sum.parts.push_back({d, 1});
        work.add(d, on_device[index(d * m + k)], 1, summed);
        for (int stage : here) edges.push_back({part(first + stage, k), summed});
      }
      std::vector<work_part>& parts = norm[index(k)].parts;
      pass const norm_here = part(norms + k, static_cast<int>(parts.size()));
      parts.push_back({d, ticks.norm});
      edges.push_back({summed, norm_here});
      for (int stage : here) edges.push_back({norm_here, part(scales + stage, k)});
    }
  }
  if (several) jobs.push_back(sum);
  for (work_job const& j : norm) jobs.push_back(j);
  for (int stage = 0; stage < stage_count; ++stage) {
    jobs.push_back(
        {.parts = std::vector<work_part>(index(m), {device_of(stage), ticks.scale}),
         .does = compute_job{.state = own_state{.is_cleared = true}, .gradient = read_gradient{stage}}});
    for (int k = 0; k < m; ++k)
      work.add(device_of(stage), everywhere[index(k)], 2, part(scales + stage, k));
  }
  for (int stage = 0; stage < stage_count; ++stage) {
    jobs.push_back(
        {.parts = {{device_of(stage), ticks.minimum}}, .does = all_reduce_job{.over_ranks = true}});
    edges.push_back({part(scales + stage, last), part(minima + stage, 0)});
  }
  for (int stage = 0; stage < stage_count; ++stage) {
    jobs.push_back(
        {.parts = {{device_of(stage), ticks.give}},
         .does = compute_job{.state = shared_state{scales + stage}, .gradient = give_gradient{stage}}});
    edges.push_back({part(minima + stage, 0), part(gives + stage, 0)});
    work.add(device_of(stage), everywhere[index(last)], 3, part(gives + stage, 0));
  }
  s.work = work_graph(jobs, edges);
  s.order = work.orders();
  schedule made = squeeze(std::move(s));
  if (diagnosis const d = check(made); !d.ok()) refuse(d);
  return made;
}

constexpr auto clip_micro_batches(clipping_costs const& ticks = {}) {
  return closure([=](schedule const& s) { return clip_micro_batches(s, ticks); });
}

}  // namespace ashlar
