// The hardware of passes, messages and sums: devices, links and rings of data-parallel ranks.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/pass_costs.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/ticks.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// The speed that costs are for, in percent.
inline constexpr int full_speed = 100;

// amount * time / of, rounded up, for an amount and a time of at least 0 and `of` of at least 1. Results
// out of range become max_tick, and `time` is added where the rest of amount / of is too large to be
// counted.
constexpr tick proportional(std::int64_t amount, tick time, std::int64_t of) {
  tick const rest = saturating_product(amount % of, time);
  return saturating_sum(saturating_product(amount / of, time),
                        rest == max_tick ? time : rest / of + (rest % of != 0 ? 1 : 0));
}

// Ticks at a speed of that many percent (at least 1) of the speed that they are given for. Rounded up,
// so no pass is said to be shorter than it is. Times out of range become max_tick.
constexpr tick at_speed(tick time, int percent) { return proportional(time, full_speed, percent); }

using byte_count = std::int64_t;

// A link: each message takes `latency` ticks, and its bytes `period` (at least 1) for every `bandwidth`
// of them, rounded up. With a bandwidth of 0, the bytes take no time.
struct link_speed {
  tick latency = 0;
  byte_count bandwidth = 0;
  tick period = 1;

  // The time of the bytes, without the latency.
  constexpr tick byte_time(byte_count size) const {
    return bandwidth == 0 ? 0 : proportional(size, period, bandwidth);
  }
  constexpr tick time_of(byte_count size) const {
    return bandwidth == 0 ? latency : saturating_sum(latency, byte_time(size));
  }

  friend constexpr bool operator==(link_speed const&, link_speed const&) = default;
};

// Groups of `size` devices, by number, and the links between them.
struct link_level {
  int size = 0;
  link_speed between = {};

  friend constexpr bool operator==(link_level const&, link_level const&) = default;
};

// One direction of one link that differs from its level: slow, or broken and led around.
struct link_exception {
  int from = 0;
  int to = 0;
  link_speed speed = {};

  friend constexpr bool operator==(link_exception const&, link_exception const&) = default;
};

// The links between the devices of a pipeline.
struct interconnect {
  link_speed inside = {};   // between devices of one node
  link_speed between = {};  // between devices of different nodes
  int node_size = 0;        // devices of a node, by number; below 1: all devices are in one node
  std::vector<link_level> wider = {};           // groups of nodes, then groups of these, and so on
  std::vector<link_exception> exceptions = {};  // few: each is looked at

  // Sizes are asked for, because empty() takes more steps of constant evaluation.
  constexpr link_speed const& link(int from, int to) const {
    if (exceptions.size() + wider.size() != 0)
      if (link_speed const* const other = unusual(from, to); other != nullptr) return *other;
    return node_size < 1 || from / node_size == to / node_size ? inside : between;
  }

  friend constexpr bool operator==(interconnect const&, interconnect const&) = default;

  // The link of an exception or a wider level; a function of its own, so that compilers inline the rest.
  constexpr link_speed const* unusual(int from, int to) const {
    for (link_exception const& e : exceptions)
      if (e.from == from && e.to == to) return &e.speed;
    for (std::size_t i = wider.size(); i > 0; --i)
      if (wider[i - 1].size > 0 && from / wider[i - 1].size != to / wider[i - 1].size)
        return &wider[i - 1].between;
    return nullptr;
  }
};

// Calls visit(link) with the speed of each kind of link. The interconnect may be const.
template <class Links, class Visit>
constexpr void for_each_link(Links& links, Visit&& visit) {
  visit(links.inside);
  visit(links.between);
  for (auto& level : links.wider) visit(level.between);
  for (auto& one : links.exceptions) visit(one.speed);
}

// Makes transfers from one device to another take `by` ticks longer. Throws
// violation{rule::no_duration_is_negative} for less than none.
constexpr void delay_link(interconnect& links, int from, int to, tick by) {
  if (by < 0) refuse({.broken = rule::no_duration_is_negative, .number = by});
  link_speed late = links.link(from, to);
  late.latency = saturating_sum(late.latency, by);
  for (link_exception& e : links.exceptions)
    if (e.from == from && e.to == to) {
      e.speed = late;
      return;
    }
  links.exceptions.push_back({from, to, late});
}

// The link between a device and the memory of its host, in each direction. Devices that share one each
// count with their part of it at all times, as if the others always copied, too: no copy takes longer.
struct host_link {
  link_speed speed = {};
  int shared_by = 1;  // devices

  constexpr tick time_of(byte_count size) const {
    return speed.time_of(saturating_product(size, shared_by));
  }

  friend constexpr bool operator==(host_link const&, host_link const&) = default;
};

// How fast devices are, and the links between them, to their hosts and in the rings that sum over ranks.
struct machine {
  interconnect links = {};
  // One for each device, in percent of the speed that costs are for: at 50, passes take twice as long.
  // Empty: all devices have that speed.
  std::vector<int> speeds = {};
  host_link host = {};  // of every device
  // The slowest link of a ring of data-parallel ranks, or of the holders of one group of parameters.
  // They sum gradients and gather weights step by step around it.
  link_speed collective = {};

  // The time of a pass on a device. Each kind of pass is rounded up by itself; a fused backward is the
  // sum of its parts.
  constexpr tick time_of(stage_cost const& c, pass_kind kind, int device) const {
    auto const number = static_cast<std::size_t>(device);
    return number >= speeds.size() ? c.of(kind) : slowed(c, kind, speeds[number]);
  }
  // The time of `time` ticks at full speed.
  constexpr tick time_of(tick time, int device) const {
    auto const number = static_cast<std::size_t>(device);
    return number >= speeds.size() ? time : at_speed(time, speeds[number]);
  }

  friend constexpr bool operator==(machine const&, machine const&) = default;

 private:
  static constexpr tick slowed(stage_cost const& c, pass_kind kind, int percent) {
    if (kind != pass_kind::backward) return at_speed(c.of(kind), percent);
    return saturating_sum(at_speed(c.backward_input, percent), at_speed(c.backward_weight, percent));
  }
};

// Renames device d to device_count - 1 - d, with its speed and its links. Other numbers stay.
constexpr machine mirrored(machine on, int device_count) {
  reverse(on.speeds);
  for (link_exception& e : on.links.exceptions)
    for (int* const d : {&e.from, &e.to})
      if (*d >= 0 && *d < device_count) *d = device_count - 1 - *d;
  return on;
}

}  // namespace ashlar
