// Numbers of a schedule. All linear in the passes.
#pragma once

#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// End of the last pass, in ticks from 0.
constexpr tick makespan(schedule const& s) {
  tick end = 0;
  for (auto const& order : s.order)
    if (!order.empty() && s.end_of(order.back()) > end) end = s.end_of(order.back());
  return end;
}

// The longest device time, max over devices of (last end - first start): what a step costs when
// consecutive steps interlock without a barrier.
constexpr tick span(schedule const& s) {
  tick longest = 0;
  for (auto const& order : s.order)
    if (!order.empty()) {
      tick const time = s.end_of(order.back()) - order.front().start;
      longest = time > longest ? time : longest;
    }
  return longest;
}

// Ticks of compute of each device.
constexpr std::vector<tick> busy(schedule const& s) {
  std::vector<tick> all;
  for (auto const& order : s.order) {
    tick sum = 0;
    for (timed_pass const& t : order)
      if (!t.closes_pair()) sum += s.end_of(t) - t.start;
    all.push_back(sum);
  }
  return all;
}

// Idle share of the busiest device within `length` ticks: 1 - busy / length; 0 for an empty schedule.
constexpr double idle_share(schedule const& s, tick length) {
  tick most = 0;
  for (tick b : busy(s)) most = b > most ? b : most;
  return length == 0 ? 0.0 : 1.0 - static_cast<double>(most) / static_cast<double>(length);
}
constexpr double bubble_rate(schedule const& s) { return idle_share(s, makespan(s)); }
constexpr double bubble_rate_span(schedule const& s) { return idle_share(s, span(s)); }

// Most chunk activations that each device holds at once: one more from the start of a forward, one less
// from the end of the fused backward or the weight pass (in inference, of the forward).
constexpr std::vector<int> peak_activations(schedule const& s) {
  std::vector<int> peaks;
  for (auto const& order : s.order) {
    int held = 0, peak = 0;
    for (timed_pass const& t : order) {  // passes of a device follow each other: the order is enough
      if (t.what.kind == pass_kind::forward && ++held > peak) peak = held;
      if (gives_weight_gradient(t.what.kind) || s.mode == execution_mode::inference) --held;
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace ashlar
