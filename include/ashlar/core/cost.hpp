// How long passes and transfers take.
#pragma once

#include <ashlar/core/moved_times.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/core/ticks.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// Ticks of each kind of pass of one stage. A fused backward takes the sum of its two parts; a recompute
// takes as long as a forward unless told otherwise. What work takes, its job says (model/work.hpp).
struct stage_cost {
  tick forward = 1;
  tick backward_input = 1;
  tick backward_weight = 1;
  tick recompute = same_as_forward;

  static constexpr tick same_as_forward = -1;

  // One expression, because finding a case of a switch is expensive in constant evaluation.
  constexpr tick of(pass_kind kind) const {
    return kind == pass_kind::forward           ? forward
           : kind == pass_kind::backward_input  ? backward_input
           : kind == pass_kind::backward_weight ? backward_weight
           : kind == pass_kind::backward        ? backward_input + backward_weight
           : kind != pass_kind::recompute       ? 0
           : recompute == same_as_forward       ? forward
                                                : recompute;
  }

  friend constexpr bool operator==(stage_cost const&, stage_cost const&) = default;
};

// What costs are for, in percent.
inline constexpr int full_speed = 100;

// Ticks at a speed of that many percent (at least 1) of the speed that they are given for. Rounded up,
// so no pass is said to be shorter than it is. Times out of range become max_tick.
constexpr tick at_speed(tick time, int percent) {
  tick const rest = time % percent * 100;
  return saturating_sum(saturating_product(time / percent, 100),
                        rest / percent + (rest % percent != 0 ? 1 : 0));
}

using byte_count = std::int64_t;

// A link: each message takes `latency` ticks, and one more for every `bandwidth` bytes begun. Bandwidth
// is in bytes per tick; with 0, the bytes take no time.
struct link_speed {
  tick latency = 0;
  byte_count bandwidth = 0;

  // The time that the bytes take, without the latency.
  constexpr tick byte_time(byte_count size) const {
    return bandwidth == 0 ? 0 : size / bandwidth + (size % bandwidth != 0);
  }
  constexpr tick time_of(byte_count size) const {
    return bandwidth == 0 ? latency : saturating_sum(latency, byte_time(size));
  }

  friend constexpr bool operator==(link_speed const&, link_speed const&) = default;
};

// The links between the devices of a pipeline, the same in both directions.
struct interconnect {
  link_speed inside = {};   // between devices of one node
  link_speed between = {};  // between devices of different nodes
  int node_size = 0;        // devices of a node, by number; 0: all devices are in one node

  constexpr link_speed const& link(int a, int b) const {
    return node_size == 0 || a / node_size == b / node_size ? inside : between;
  }

  friend constexpr bool operator==(interconnect const&, interconnect const&) = default;
};

// How long everything takes: the passes of each stage on each device; a message between two devices (a
// hand-over between stages of one device is free); and a forward and a backward that run overlapped.
struct costs {
  // One entry for all stages, or one for each. If the chunks of sequences differ (with causal attention,
  // later chunks take longer), one entry for each stage and chunk, those of a stage one after the other.
  std::vector<stage_cost> per_stage = std::vector<stage_cost>(1);
  interconnect links = {};
  byte_count message = 0;  // of each transfer, where none knows better
  tick overlapped = one_after_the_other;
  // One for each device, in percent of the speed that costs are for: at 50, passes take twice as long.
  // Empty: all devices have that speed.
  std::vector<int> speeds = {};
  int sequence_chunks = 1;  // of each sequence, that `per_stage` tells apart; 1: they are alike

  static constexpr tick one_after_the_other = -1;

  constexpr costs() = default;
  // Every transfer takes `transfer_time`.
  constexpr costs(stage_cost alike, tick transfer_time = 0)
      : per_stage(1, alike), links{.inside = {transfer_time}, .between = {transfer_time}} {}
  constexpr costs(std::vector<stage_cost> each, tick transfer_time = 0)
      : per_stage(static_cast<std::vector<stage_cost>&&>(each)),
        links{.inside = {transfer_time}, .between = {transfer_time}} {}

  // At full speed, for a micro-batch; if chunks differ, q micro-batches make up a sequence.
  constexpr stage_cost const& of_stage(int stage, int micro_batch = 0) const {
    if (sequence_chunks != 1) return of_chunk(stage, micro_batch);
    return per_stage[per_stage.size() == 1 ? 0 : static_cast<std::size_t>(stage)];
  }
  // Each kind of pass is rounded up by itself; a fused backward is the sum of its parts.
  constexpr tick of(pass const& what, int device) const {
    auto const number = static_cast<std::size_t>(device);
    stage_cost const& c = of_stage(what.stage, what.micro_batch);
    return number >= speeds.size() ? c.of(what.kind) : slowed(c, what.kind, speeds[number]);
  }
  constexpr tick of_pair(pass forward, pass backward, int device) const {
    if (overlapped == one_after_the_other) return of(forward, device) + of(backward, device);
    return speeds.empty() ? overlapped : at_speed(overlapped, nth(speeds, device));
  }
  // The time of a message from one device to another, or back.
  constexpr tick transfer(int from, int to) const {
    return from == to ? 0 : links.link(from, to).time_of(message);
  }

  friend constexpr bool operator==(costs const&, costs const&) = default;

 private:
  constexpr stage_cost const& of_chunk(int stage, int micro_batch) const {
    auto const q = static_cast<unsigned>(sequence_chunks);
    std::size_t const first = per_stage.size() == q ? 0 : static_cast<std::size_t>(stage) * q;
    return per_stage[first + static_cast<unsigned>(micro_batch) % q];
  }
  static constexpr tick slowed(stage_cost const& c, pass_kind kind, int percent) {
    if (kind != pass_kind::backward) return at_speed(c.of(kind), percent);
    return saturating_sum(at_speed(c.backward_input, percent), at_speed(c.backward_weight, percent));
  }
};

// Makes transfers take `factor` times as long, for the same bytes. Throws violation as stretched() does.
constexpr void stretch_transfers(costs& c, tick factor) {
  for (std::int64_t* each : {&c.links.inside.latency, &c.links.between.latency, &c.message})
    *each = stretched(*each, factor);
}

}  // namespace ashlar
