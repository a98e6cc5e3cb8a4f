// Whether costs, routes and cells go together, before anything is looked up in them.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/cost_sizes.hpp>
#include <ashlar/core/nth.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Checks that a message over the link, for this instruction, takes zero ticks or more:
// rule::no_duration_is_negative, rule::counts_are_positive for its period.
constexpr diagnosis check(link_speed const& link, opcode over_it) {
  if (tick const least = min_of(link.latency, link.bandwidth); least < 0)
    return {.broken = rule::no_duration_is_negative, .first = {.code = over_it}, .number = least};
  if (link.period < 1)
    return {.broken = rule::counts_are_positive, .first = {.code = over_it}, .number = link.period};
  return {};
}

// Checks the link to a host likewise. At least one device has it: rule::counts_are_positive.
constexpr diagnosis check(host_link const& host) {
  if (host.shared_by < 1) return {.broken = rule::counts_are_positive, .number = host.shared_by};
  return check(host.speed, opcode::offload);
}

// Checks the costs of that many stages on that many devices, with sequences in that many chunks: sizes
// as check_sizes() has them; passes and transfers of zero ticks or more; speeds of at least 1 %
// (rule::parameter_is_at_least, with the device); links that are between two devices and groups of at
// least one; and sums over m micro-batches, with messages that take up to `transfer`, that stay within
// the range of ticks.
constexpr diagnosis check(execution_costs const& cost, int stage_count, int device_count, int m,
                          int sequence_chunks, tick transfer = 0) {
  if (diagnosis const d = check_sizes(cost, stage_count, device_count, m, sequence_chunks); !d.ok())
    return d;
  if (tick const pair = cost.passes.overlapped.shortest();
      pair < 0 && cost.passes.overlapped.are_given())
    return {.broken = rule::no_duration_is_negative, .first = {.index = 0}, .number = pair};
  int slowest = full_speed;
  for (std::size_t d = 0; d < cost.on.speeds.size(); ++d) {
    int const given = cost.on.speeds[d];
    if (given < 1)
      return {.broken = rule::parameter_is_at_least,
              .first = {.device = static_cast<int>(d)},
              .number = 1,
              .which = parameter::device_speed,
              .given = given};
    slowest = given < slowest ? given : slowest;
  }
  interconnect const& links = cost.on.links;
  if (links.node_size < 0) return {.broken = rule::counts_are_positive, .number = links.node_size};
  for (link_level const& l : links.wider)
    if (l.size < 1) return {.broken = rule::counts_are_positive, .number = l.size};
  for (link_exception const& e : links.exceptions)
    for (int const device : {e.from, e.to})
      if (device < 0 || device >= device_count || e.from == e.to)
        return {.broken = rule::transfers_lead_to_another_device,
                .first = {.device = device, .code = opcode::send}};
  if (diagnosis const d = check(cost.on.host); !d.ok()) return d;
  if (diagnosis const d = check(cost.on.collective, opcode::all_reduce); !d.ok()) return d;
  diagnosis found;
  for_each_link(links, [&](link_speed const& l) {
    if (found.ok()) found = check(l, opcode::send);
    transfer = max_of(transfer, l.latency);
  });
  if (!found.ok()) return found;
  tick longest = max_of(transfer, cost.passes.overlapped.longest());
  cost.passes.for_each([&](int stage, int micro_batch, stage_cost const& c) {
    tick sum = 0;
    for (pass_kind kind : {pass_kind::forward, pass_kind::backward_input, pass_kind::backward_weight,
                           pass_kind::recompute}) {
      if (c.of(kind) < 0 && found.ok())
        found = {.broken = rule::no_duration_is_negative,
                 .first = {.what = {kind, stage, micro_batch}},
                 .number = c.of(kind)};
      sum = saturating_sum(sum, max_of<tick>(0, c.of(kind)));
    }
    longest = max_of(longest, sum);
  });
  if (!found.ok()) return found;
  if (slowest < full_speed) longest = at_speed(longest, slowest);
  // The sum if every pass waited for every other.
  tick const all =
      saturating_product(saturating_product(saturating_sum(longest, transfer), stage_count), m);
  if (all >= max_tick) return {.broken = rule::ticks_fit, .number = longest};
  return {};
}

// Checks also that messages have a size within the range of ticks.
constexpr diagnosis check(costs const& cost, int stage_count, int device_count, int m,
                          int sequence_chunks) {
  if (cost.message < 0 || cost.message >= max_tick)
    return {.broken = rule::sizes_fit, .number = cost.message};
  tick transfer = 0;
  for_each_link(cost.on.links, [&](link_speed const& l) {
    if (check(l, opcode::send).ok()) transfer = max_of(transfer, l.time_of(cost.message));
  });
  return check(static_cast<execution_costs const&>(cost), stage_count, device_count, m, sequence_chunks,
               transfer);
}

// Checks that every micro-batch takes an existing route, and those that belong together the same one.
constexpr diagnosis check_each_route(stage_graph const& graph, placement const& where,
                                     std::vector<int> const& route) {
  auto const q = static_cast<std::size_t>(graph.together());
  for (std::size_t k = 0; k < route.size(); ++k)
    if (route[k] < 0 || route[k] >= where.route_count() || (q > 1 && route[k] != route[k - k % q]))
      return {.broken = rule::micro_batches_take_a_route, .number = route[k]};
  return {};
}

// Checks also that all that belong together are there.
constexpr diagnosis check_routes(stage_graph const& graph, placement const& where,
                                 std::vector<int> const& route) {
  if (route.size() % static_cast<std::size_t>(graph.together()) != 0)
    return {.broken = rule::micro_batches_fill_blocks, .number = graph.together()};
  return check_each_route(graph, where, route);
}

// Checks a block, which may have only some of the micro-batches that belong together: its graph, routes,
// interval and costs are right, and its cells are passes of stages and micro-batches that exist, at
// offsets within the range of ticks. Whether it has the passes that it needs, in time, is for
// check(block) to say. O(cells + stages).
constexpr diagnosis check_form(block const& b) {
  int const stage_count = b.where.stage_count(), m = b.micro_batch_count();
  if (b.graph.count() != stage_count)
    return wrong_size(table::stages_of_graph, b.graph.count(), stage_count);
  if (diagnosis const d = check_each_route(b.graph, b.where, b.route); !d.ok()) return d;
  if (b.interval < 1 || m < 1 || stage_count < 1)
    return {.broken = rule::counts_are_positive,
            .number = min_of<tick>(b.interval, min_of(m, stage_count))};
  if (b.interval >= max_tick) return {.broken = rule::ticks_fit, .number = b.interval};
  if (diagnosis const d =
          check(b.cost, stage_count, b.where.device_count(), m, b.graph.sequence_chunks());
      !d.ok())
    return d;
  for (cell const& c : b.cells) {
    pass const what = c.what;
    if (!b.graph.has(what, m)) return {.broken = rule::every_pass_is_known, .first = {.what = what}};
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
