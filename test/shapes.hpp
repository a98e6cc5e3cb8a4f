// Blocks and schedules that several tests look at. Standard library only.
#pragma once

#include <ashlar/block/algebra.hpp>
#include <ashlar/catalog/entries.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace shapes {

using namespace ashlar;

inline constexpr pass_kind F = pass_kind::forward, R = pass_kind::recompute, B = pass_kind::backward,
                           I = pass_kind::backward_input, W = pass_kind::backward_weight,
                           X = pass_kind::work;

// 1F1B on p devices, repeated and squeezed.
constexpr schedule one_f_one_b(int p, int m) {
  return catalog::one_f_one_b(devices{p}) | repeat(micro_batches{m}) | squeeze();
}

// V-Half for passes of 10, 13 and 7 ticks.
constexpr schedule uneven_v(int p, int m, tick transfer) {
  return catalog::v_half(devices{p}) | repeat(micro_batches{m})
         | retime(costs(stage_cost{10, 13, 7}, transfer));
}

// A fork that joins again: stage 0 feeds 1 and 2, both feed 3. A stage a device.
constexpr block fork_join() {
  block const b = make_block(linear(devices{4}), {}, 3, {F, B}, [](pass_kind kind, int stage) {
    int const depth = (stage + 1) / 2;  // 0, 1, 1, 2
    return tick{kind == F ? depth : 7 - 2 * depth};
  });
  return with_graph(b, stage_graph(stages{4}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
}

// Two micro-batches, one down the devices and one up, so that each stage has two replicas.
constexpr block two_ways(int p) {
  block const down = spread(catalog::one_f_one_b(devices{p}), 2);
  return overlay(down, mirror(down));
}

// A block that recomputes, with transfers and uneven passes; each device works 7 ticks of 8.
constexpr block recomputed(int p) {
  return make_block(linear(devices{p}), costs(stage_cost{2, 3, 1, 1}, 1), 8, {F, R, B},
                    [p](pass_kind kind, int stage) {
                      if (kind == F) return tick{3 * stage};
                      tick const back = 3 * p + 5 * (p - 1 - stage);
                      return kind == R ? back - 1 : back;
                    });
}

// The schedule with work at the end of every device's order: a job with a part on each, which reads
// nothing.
constexpr schedule with_work(schedule s) {
  work_job job;
  tick const end = makespan(s);
  for (int d = 0; d < s.device_count(); ++d) {
    s.order[static_cast<std::size_t>(d)].push_back({{X, 0, d}, end});
    job.parts.push_back({d, 1});
  }
  s.work = work_graph({job}, {});
  return s;
}

// Edges of work that scales by the norm of a micro-batch over all stages (a stage a device, fused
// backwards): job 0 measures it (part d on device d, from what B0 keeps), job 1 sums it in 2 ticks, job
// 2 reads the sum and what B0 keeps and adds to its state. They stand right after B0 and at the end.
constexpr std::vector<work_edge> norm_edges(int p) {
  std::vector<work_edge> edges;
  for (int d = 0; d < p; ++d) {
    edges.push_back({{B, d, 0}, {X, 0, d}});
    edges.push_back({{X, 0, d}, {X, 1, d}});
    edges.push_back({{X, 1, d}, {X, 2, d}});
    edges.push_back({{B, d, 0}, {X, 2, d}});
  }
  return edges;
}
constexpr std::vector<work_job> norm_jobs(int p) {
  std::vector<work_job> jobs(3);
  for (work_job& j : jobs)
    for (int d = 0; d < p; ++d) j.parts.push_back({d, 1});
  jobs[1].does = all_reduce_job{};
  for (work_part& part : jobs[1].parts) part.duration = 2;
  jobs[2].does = compute_job{.state = own_state{}};
  return jobs;
}
constexpr schedule with_norm(schedule s) {
  int const p = s.device_count();
  for (int d = 0; d < p; ++d) {
    auto& order = s.order[static_cast<std::size_t>(d)];
    std::size_t at = 0;
    while (order[at].what != pass{B, d, 0}) ++at;
    std::vector<time_slot> more;
    for (std::size_t i = 0; i < order.size(); ++i) {
      more.push_back(order[i]);
      if (i == at) more.push_back({{X, 0, d}, 0});
    }
    more.push_back({{X, 2, d}, 0});
    order = more;
  }
  s.work = work_graph(norm_jobs(p), norm_edges(p));
  return squeeze(std::move(s));
}

// Device 0 of two has a piece of two ticks for each of two forwards, and 3 ticks that read the last.
constexpr work_graph curvature() {
  return work_graph(
      {{.parts = {{0, 2}, {0, 2}}, .does = compute_job{.state = own_state{}}}, {.parts = {{0, 3}}}},
      {{{F, 0, 0}, {X, 0, 0}}, {{F, 0, 1}, {X, 0, 1}}, {{X, 0, 1}, {X, 1, 0}}});
}

// Puts a pass and the one behind it into one slot of their device.
constexpr void pair_up(schedule& s, std::size_t device, std::size_t index) {
  std::vector<time_slot>& order = s.order[device];
  order[index].beside = order[index + 1].what;
  order.erase(order.begin() + static_cast<std::ptrdiff_t>(index) + 1);
}

// The start of a pass that is there once; -1 if it is not.
constexpr tick start_of(schedule const& s, pass what) {
  for (auto const& order : s.order)
    for (timed_pass const t : each_pass(order))
      if (t.what == what) return t.start;
  return -1;
}

}  // namespace shapes
