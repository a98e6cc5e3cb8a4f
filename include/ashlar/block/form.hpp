// Whether costs, routes and cells go together, before anything is looked up in them.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/core/cost_sizes.hpp>
#include <ashlar/core/nth.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Checks the costs of that many stages on that many devices, with sequences in that many chunks: sizes
// as check_sizes() has them; passes of at least one tick; transfers of zero or more; speeds of at least
// 1 % (rule::parameter_is_at_least, with the device); and sums over m micro-batches that stay within the
// range of ticks.
constexpr diagnosis check(costs const& cost, int stage_count, int device_count, int m,
                          int sequence_chunks) {
  if (diagnosis const d = check_sizes(cost, stage_count, device_count, sequence_chunks); !d.ok())
    return d;
  if (cost.overlapped < 1 && cost.overlapped != costs::one_after_the_other)
    return {.broken = rule::durations_are_positive, .first = {.index = 0}, .number = cost.overlapped};
  int slowest = full_speed;
  for (std::size_t d = 0; d < cost.speeds.size(); ++d) {
    int const given = cost.speeds[d];
    if (given < 1)
      return {.broken = rule::parameter_is_at_least,
              .first = {.device = static_cast<int>(d)},
              .number = 1,
              .which = parameter::device_speed,
              .given = given};
    slowest = given < slowest ? given : slowest;
  }
  if (cost.links.node_size < 0)
    return {.broken = rule::counts_are_positive, .number = cost.links.node_size};
  if (cost.message < 0 || cost.message >= max_tick)
    return {.broken = rule::sizes_fit, .number = cost.message};
  tick transfer = 0;
  for (link_speed const& l : {cost.links.inside, cost.links.between}) {
    for (tick number : {l.latency, l.bandwidth})
      if (number < 0)
        return {
            .broken = rule::durations_are_positive, .first = {.code = opcode::send}, .number = number};
    tick const time = l.time_of(cost.message);
    transfer = time > transfer ? time : transfer;
  }
  tick longest = transfer > cost.overlapped ? transfer : cost.overlapped;
  for (std::size_t i = 0; i < cost.per_stage.size(); ++i) {
    stage_cost const& c = cost.per_stage[i];
    int const at = static_cast<int>(i), q = cost.sequence_chunks;
    tick sum = 0;
    for (pass_kind kind : {pass_kind::forward, pass_kind::backward_input, pass_kind::backward_weight,
                           pass_kind::recompute}) {
      if (c.of(kind) < 1)
        return {.broken = rule::durations_are_positive,
                .first = {.what = {kind, at / q, at % q}},
                .number = c.of(kind)};
      sum = saturating_sum(sum, c.of(kind));
    }
    longest = sum > longest ? sum : longest;
  }
  if (slowest < full_speed) longest = at_speed(longest, slowest);
  // The sum if every pass waited for every other.
  tick const all =
      saturating_product(saturating_product(saturating_sum(longest, transfer), stage_count), m);
  if (all >= max_tick) return {.broken = rule::ticks_fit, .number = longest};
  return {};
}

// Every micro-batch takes an existing route; those that belong together take the same one.
constexpr diagnosis check_each_route(stage_graph const& graph, placement const& where,
                                     std::vector<int> const& route) {
  auto const q = static_cast<std::size_t>(graph.together());
  for (std::size_t k = 0; k < route.size(); ++k)
    if (route[k] < 0 || route[k] >= where.route_count() || (q > 1 && route[k] != route[k - k % q]))
      return {.broken = rule::micro_batches_take_a_route, .number = route[k]};
  return {};
}

// The same, and all that belong together are there.
constexpr diagnosis check_routes(stage_graph const& graph, placement const& where,
                                 std::vector<int> const& route) {
  if (route.size() % static_cast<std::size_t>(graph.together()) != 0)
    return {.broken = rule::micro_batches_fill_blocks, .number = graph.together()};
  return check_each_route(graph, where, route);
}

// Of a block, which may have only some of the micro-batches that belong together: its graph, routes,
// interval and costs are right, and its cells are passes of stages and micro-batches that exist, at
// offsets within the range of ticks. Whether it has the passes that it needs, in time, is for
// check(block) to say. O(cells + stages).
constexpr diagnosis check_form(block const& b) {
  int const stage_count = b.where.stage_count(), m = b.micro_batch_count();
  if (b.graph.count() != stage_count)
    return wrong_size(table::stages_of_graph, b.graph.count(), stage_count);
  if (diagnosis const d = check_each_route(b.graph, b.where, b.route); !d.ok()) return d;
  if (b.interval < 1 || m < 1 || stage_count < 1)
    return {.broken = rule::counts_are_positive, .number = b.interval < 1 ? b.interval : m};
  if (b.interval >= max_tick) return {.broken = rule::ticks_fit, .number = b.interval};
  if (diagnosis const d =
          check(b.cost, stage_count, b.where.device_count(), m, b.graph.sequence_chunks());
      !d.ok())
    return d;
  for (cell const& c : b.cells) {
    pass const what = c.what;
    if (what.kind >= pass_kind::work || what.stage < 0 || what.stage >= stage_count
        || what.micro_batch < 0 || what.micro_batch >= m || !b.graph.runs(what.stage, what.micro_batch))
      return {.broken = rule::every_pass_is_known, .first = {.what = what}};
    if (c.offset <= -max_tick || c.offset >= max_tick)
      return {.broken = rule::ticks_fit, .first = {.what = what}, .number = c.offset};
  }
  return {};
}

// Throws violation{check_form(b)}.
constexpr void must_have_form(block const& b) {
  if (diagnosis const d = check_form(b); !d.ok()) refuse(d);
}

}  // namespace ashlar
