// How long passes and transfers take: what a pass takes, on which machine.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/machine.hpp>
#include <ashlar/core/moved_times.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/core/pass_costs.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/ticks.hpp>

#include <cstdint>
#include <vector>

namespace ashlar {

// Passes on a machine: enough for a simulation, which takes sizes of messages from the memory model.
struct execution_costs {
  pass_costs passes = {};
  machine on = {};

  constexpr tick of(pass const& what, int device) const {
    return on.time_of(passes.of(what.stage, what.micro_batch), what.kind, device);
  }
  constexpr tick of_pair(pass const& forward, pass const& backward, int device) const {
    if (!passes.overlapped.are_given()) return of(forward, device) + of(backward, device);
    return on.time_of(passes.overlapped.of(forward.stage, backward.kind, backward.stage), device);
  }

  friend constexpr bool operator==(execution_costs const&, execution_costs const&) = default;
};

// How long everything takes: the passes of each stage on each device, and a message between two devices
// (a hand-over between stages of one device is free), of which all have one size.
struct costs : execution_costs {
  byte_count message = 0;

  constexpr costs() = default;
  constexpr costs(pass_costs each, machine where, byte_count size = 0)
      : execution_costs{static_cast<pass_costs&&>(each), static_cast<machine&&>(where)}, message(size) {}
  // Every transfer takes `transfer_time`.
  constexpr costs(pass_costs each, tick transfer_time = 0)
      : costs(static_cast<pass_costs&&>(each),
              {.links = {.inside = {transfer_time}, .between = {transfer_time}}}) {}
  constexpr costs(stage_cost alike, tick transfer_time = 0) : costs(pass_costs(alike), transfer_time) {}
  constexpr costs(std::vector<stage_cost> each, tick transfer_time = 0)
      : costs(pass_costs(static_cast<std::vector<stage_cost>&&>(each)), transfer_time) {}

  // The time of a message from one device to another.
  constexpr tick transfer(int from, int to) const {
    return from == to ? 0 : on.links.link(from, to).time_of(message);
  }
  // Whether no message takes time, so that nobody has to ask for the devices of each.
  constexpr bool are_transfers_free() const {
    interconnect const& l = on.links;
    return l.exceptions.size() + l.wider.size() == 0 && l.inside.time_of(message) == 0
           && l.between.time_of(message) == 0;
  }

  friend constexpr bool operator==(costs const&, costs const&) = default;
};

// The costs of two schedules, or blocks, of this many micro-batches that become one. Throws violation
// {rule::parts_are_alike} where more differs than the times of single micro-batches; where these differ,
// rule::parameter_is_at_least for fewer than none, rule::parameter_is_at_most for a table of more than
// most_passes.
constexpr costs joined(costs a, int of_a, costs const& b, int of_b) {
  bool const are_distinguished = a.passes.micro_batches() != 0 || b.passes.micro_batches() != 0;
  bool const differ = a.on != b.on || a.message != b.message
                      || a.passes.overlapped != b.passes.overlapped
                      || (are_distinguished ? a.passes.stages() != b.passes.stages()
                                                  && a.passes.stages() != 0 && b.passes.stages() != 0
                                            : a.passes != b.passes);
  if (differ) refuse({.broken = rule::parts_are_alike});
  if (are_distinguished) {
    int const rows = max_of(1, max_of(a.passes.stages(), b.passes.stages()));
    for (int const count : {of_a, of_b}) must_be(at_least(parameter::micro_batch_count, count, 0));
    must_be(at_most(parameter::micro_batch_count, std::int64_t{of_a} + of_b, most_passes / rows));
    a.passes = joined(a.passes, of_a, b.passes, of_b);
  }
  return a;
}

// Makes transfers, copies to hosts and sums over ranks take `factor` times as long, for the same bytes.
// The time of bytes rounds up only after that. Throws violation as stretched() does.
constexpr void stretch_transfers(machine& on, tick factor) {
  auto const stretch = [factor](link_speed& l) {
    l.latency = stretched(l.latency, factor);
    l.period = l.bandwidth == 0 ? 1 : stretched(l.period, factor);
  };
  for_each_link(on.links, stretch);
  stretch(on.host.speed);
  stretch(on.collective);
}

}  // namespace ashlar
