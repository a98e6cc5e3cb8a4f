// K-FAC as work beside the passes of a schedule (as in PipeFisher, arXiv 2211.14133).
#pragma once

#include "kfac/curvature.hpp"
#include <ashlar/core/pass.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/fill/fill.hpp>
#include <ashlar/model/work.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

namespace kfac {

// The task of a job for its stage.
enum class task : unsigned char { add_inputs, add_gradients, invert };
inline constexpr int tasks = 3;

constexpr task task_of(int job) { return static_cast<task>(job % tasks); }
constexpr int stage_of(int job) { return job / tasks; }

// Ticks of one part.
struct work_ticks {
  ashlar::tick add_inputs = 1;
  ashlar::tick add_gradients = 1;
  ashlar::tick invert = 1;
};

// Three jobs for each stage. Part m of the first two adds the curvature of what micro-batch m's forward,
// or its backward, keeps to sums that are zeros again after the step; part k of the third inverts the
// factors of the stage's layer k when all is summed. The schedule has one route and no recomputation.
// Filled into several steps, the first one's micro-batches stand for all. Throws std::invalid_argument
// for a stage without blocks.
inline ashlar::work_graph work_for(ashlar::schedule const& step, gpt::config const& shape,
                                   work_ticks const& ticks = {}) {
  using namespace ashlar;
  pass_kind backward = pass_kind::backward;
  for (auto const& order : step.order)
    for (timed_pass const t : each_pass(order))
      if (t.what.kind == pass_kind::backward_input) backward = pass_kind::backward_input;
  auto const parts = [](int count, int device, tick duration) {
    return std::vector<work_part>(static_cast<std::size_t>(count), {device, duration});
  };
  std::vector<work_job> jobs;
  std::vector<work_edge> edges;
  int const m = step.micro_batch_count();
  for (int stage = 0; stage < step.stage_count(); ++stage) {
    int const device = step.where.device_of(0, stage), first = static_cast<int>(jobs.size());
    int const layers = gpt::shape_of(shape, stage).blocks * layers_of_block;
    if (layers == 0) throw std::invalid_argument("K-FAC needs a block in every stage");
    jobs.push_back({.parts = parts(m, device, ticks.add_inputs),
                    .does = compute_job{.state = own_state{.is_cleared = true}}});
    jobs.push_back({.parts = parts(m, device, ticks.add_gradients),
                    .does = compute_job{.state = shared_state{first}}});
    jobs.push_back({.parts = parts(layers, device, ticks.invert),
                    .does = compute_job{.state = shared_state{first}}});
    for (int k = 0; k < m; ++k) {
      edges.push_back({{pass_kind::forward, stage, k}, part_id{first, k}});
      edges.push_back({{backward, stage, k}, part_id{first + 1, k}});
    }
    for (int layer = 0; layer < layers; ++layer)
      for (int sums : {first, first + 1})
        edges.push_back({part_id{sums, m - 1}, part_id{first + 2, layer}});
  }
  return work_graph(jobs, edges);
}

// Places this work differently, for comparison: `count` of the steps, and all of it after the last.
inline ashlar::schedule work_at_end(ashlar::schedule const& step, ashlar::work_graph const& work,
                                    int count) {
  ashlar::part_times times(step, work.view());
  append_rest(times, step.device_count(), count * makespan(step));
  return with_parts(repeated(step, count), work, times);
}

}  // namespace kfac
