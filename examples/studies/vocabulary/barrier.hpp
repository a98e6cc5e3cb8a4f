// The time of a shared output layer's barrier as messages, and as an all-reduce.
#pragma once

#include <ashlar/catalog/vocabulary.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/simulate/simulate.hpp>
#include <ashlar/values/timed_work.hpp>

#include <utility>
#include <vector>

namespace vocabulary_study {

using namespace ashlar;

// The study has ticks of a nanosecond, its passes, a vocabulary of 256 thousand, sequences of 2,048
// tokens in bf16 with 4,096 channels, and nodes of eight devices.
struct barrier_model {
  int p = 8;

  static constexpr tick forward = 11'000'000, backward = 22'000'000, output_layer = 67'000'000;
  static constexpr byte_count tokens = 2048, activation = tokens * 4096 * 2, told = tokens * 3 * 4;
  static constexpr link_speed inside{3'000, 200}, between{8'000, 25};

  micro_batches m() const { return micro_batches{4 * p}; }
  std::vector<stage_cost> passes() const {
    tick const s = output_layer / p / 3, t = output_layer / p - s;
    std::vector<stage_cost> each;
    for (int d = 0; d < p; ++d) each.push_back({forward, backward / 2, backward / 2});
    for (int d = 0; d < p; ++d) each.push_back({s, t / 2, t / 2});
    return each;
  }
  simulation_options machine() const {
    simulation_options o;
    o.cost.passes = passes();
    o.cost.on.links = {.inside = inside, .between = between, .node_size = 8};
    o.memory.stages.assign(static_cast<std::size_t>(p),
                           {.activation = activation, .gradient = activation});
    o.memory.stages.resize(static_cast<std::size_t>(2 * p), {.activation = told});
    return o;
  }
  schedule with_messages() const {
    return catalog::vocabulary_one_f_one_b(devices{p}, m(), shard_gradient::of_backward, passes());
  }
  // Each shard puts what it tells into a place of its own among zeros, so that the sum keeps the shards
  // apart, and their order: the same bits.
  tick all_reduce() const { return ring_time(p > 8 ? between : inside, told * p, p); }
};

// The passes stay. Work beside them hands on what a shard tells and sums it over the devices, and the
// backward of a shard reads that sum instead of messages.
inline schedule with_all_reduces(barrier_model const& model) {
  schedule s = model.with_messages();
  int const p = model.p;
  std::vector<stage_edge> edges;
  for (int stage = 0; stage < p; ++stage) {
    if (stage + 1 < p) edges.push_back({stage, stage + 1});
    edges.push_back({p - 1, p + stage});
  }
  s.graph = stage_graph(stages{2 * p}, edges);
  std::vector<work_job> jobs;
  std::vector<work_edge> reads;
  for (int k = 0; k < s.micro_batch_count(); ++k) {
    work_job tell, sum{.parts = {}, .does = all_reduce_job{}};
    for (int d = 0; d < p; ++d) {
      tell.parts.push_back({d, 1});
      sum.parts.push_back({d, model.all_reduce()});
    }
    jobs.push_back(std::move(tell));
    jobs.push_back(std::move(sum));
  }
  timed_work work(s);
  for (int d = 0; d < p; ++d)
    for (timed_pass const t : each_pass(s.order[static_cast<std::size_t>(d)])) {
      if (t.what.stage < p) continue;
      part_id const tell{2 * t.what.micro_batch, d}, sum{2 * t.what.micro_batch + 1, d};
      if (t.what.kind != pass_kind::forward) {
        reads.push_back({sum, t.what});
        continue;
      }
      reads.push_back({t.what, tell});
      reads.push_back({tell, sum});
      work.add(d, s.end_of(t, d), 0, tell);
    }
  s.work = work_graph(jobs, reads);
  s.order = work.orders();
  return squeeze(std::move(s));
}

inline double simulated_ms(schedule const& s, barrier_model const& model, transfer_lanes lanes) {
  return static_cast<double>(simulate(lower(s, {.lanes = lanes}), model.machine()).makespan()) * 1e-6;
}

}  // namespace vocabulary_study
