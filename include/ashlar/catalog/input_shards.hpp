// An input layer that is split over all devices, in addition to the passes of a schedule. Yeung, Qi,
// Lin, Wan: Balancing Pipeline Parallelism with Vocabulary Parallelism (2024), section 6.3.
#pragma once

#include <ashlar/core/cost.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/core/pass_costs.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/model/stage_graph.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ashlar::catalog {

// Adds `count` stages that each feed what was stage 0; the others are numbered from `count` on. Throws
// violation: rule::parameter_is_at_least for fewer than none, rule::parameter_is_at_most for more than
// most_stages in all.
constexpr stage_graph with_input_shards(stage_graph const& of, int count) {
  must_be(at_least(parameter::stage_count, count, 0));
  must_be(at_most(parameter::stage_count, std::int64_t{count} + of.count(), most_stages));
  std::vector<stage_edge> edges;
  for (int s = 0; s < count; ++s) edges.push_back({s, count});
  std::vector<std::vector<int>> layers;
  for (int s = 0; s < of.count(); ++s) {
    for (int after : of.successors(s)) edges.push_back({count + s, count + after});
    auto const shards = of.shards_with(s);
    if (shards.empty() || shards[0] != s) continue;
    layers.emplace_back();
    for (int shard : shards) layers.back().push_back(count + shard);
  }
  return in_sequence_chunks(
      in_shards(stage_graph(stages{of.count() + count}, edges), layers, of.gradients()),
      of.sequence_chunks());
}

namespace input_detail {

constexpr pass_costs with_instants(pass_costs const& of, int count, int stage_count) {
  std::vector<stage_cost> each(static_cast<std::size_t>(count * of.period()), stage_cost::nothing());
  for (int s = 0; s < stage_count; ++s)
    for (int k = 0; k < of.period(); ++k) each.push_back(of.of(s, k));
  pass_costs made = of.micro_batches() > 0
                        ? pass_costs::by_stage_and_micro_batch(std::move(each), of.period())
                        : pass_costs::by_stage_and_sequence_chunk(std::move(each), of.period());
  made.overlapped = of.overlapped;
  return made;
}

}  // namespace input_detail

// Puts the input layer of the schedule in shards: stages 0 .. p-1, one on each device, before what was
// stage 0; all others are numbered from p on. A shard looks up the rows of its tokens, which takes no
// time, and what was stage 0 adds up what the shards have made. A forward of a shard stands where its
// message comes in time, a backward where its gradient is there. Squeezed; as long as before, if
// messages take no time. Throws violation with check(s), rule::parameter_is_at_most for several routes,
// and rule::work_uses_what_exists for a schedule with work or with stages of different sizes.
constexpr schedule with_input_shards(schedule s) {
  if (diagnosis const d = check(s); !d.ok()) refuse(d);
  must_be(at_most(parameter::route_count, s.where.route_count(), 1));
  if (!s.work.empty() || s.graph.has_sizes()) refuse({.broken = rule::work_uses_what_exists});
  int const p = s.device_count(), home = s.where.device_of(0, 0);
  struct event {
    int micro_batch;
    tick time;
  };
  std::vector<event> ahead, back;  // of what was stage 0, in time
  for (timed_pass const t : each_pass(nth(s.order, home))) {
    if (t.what.stage != 0) continue;
    if (t.what.kind == pass_kind::forward) ahead.push_back({t.what.micro_batch, t.start});
    if (gives_input_gradient(t.what.kind)) back.push_back({t.what.micro_batch, s.end_of(t, home)});
  }
  std::vector<std::vector<time_slot>> orders;
  for (int d = 0; d < p; ++d) {
    std::vector<time_slot> order;
    std::size_t f = 0, b = 0;
    auto const add = [&](pass_kind kind, event const& e) {
      order.push_back({{kind, d, e.micro_batch}, e.time});
    };
    for (time_slot t : nth(s.order, d)) {
      while (f < ahead.size() && ahead[f].time - s.cost.transfer(d, home) < s.end_of(t, d))
        add(pass_kind::forward, ahead[f++]);
      while (b < back.size() && back[b].time + s.cost.transfer(home, d) <= t.start)
        add(pass_kind::backward, back[b++]);
      t.what.stage += p;
      if (t.is_pair()) t.beside.stage += p;
      order.push_back(t);
    }
    while (f < ahead.size()) add(pass_kind::forward, ahead[f++]);
    while (b < back.size()) add(pass_kind::backward, back[b++]);
    orders.push_back(std::move(order));
  }
  placement const before = s.where;
  s.cost.passes = input_detail::with_instants(s.cost.passes, p, s.stage_count());
  s.where = make_placement(devices{p}, stages{p + before.stage_count()}, [&](int stage) {
    return stage < p ? stage : before.device_of(0, stage - p);
  });
  s.graph = with_input_shards(s.graph, p);
  s.order = std::move(orders);
  return squeeze(std::move(s));
}

}  // namespace ashlar::catalog
