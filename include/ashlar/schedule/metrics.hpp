// Numbers of a schedule. All linear in the passes.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// End of the last pass, in ticks from 0.
constexpr tick makespan(schedule const& s) {
  tick end = 0;
  for (std::size_t d = 0; d < s.order.size(); ++d)
    if (auto const& order = s.order[d]; !order.empty())
      end = max_of(end, s.end_of(order.back(), static_cast<int>(d)));
  return end;
}

// The longest device time, max over devices of (last end - first start): what a step costs when
// consecutive steps interlock without a barrier.
constexpr tick span(schedule const& s) {
  tick longest = 0;
  for (std::size_t d = 0; d < s.order.size(); ++d)
    if (auto const& order = s.order[d]; !order.empty())
      longest = max_of(longest, s.end_of(order.back(), static_cast<int>(d)) - order.front().start);
  return longest;
}

// Ticks of compute of each device.
constexpr std::vector<tick> busy(schedule const& s) {
  std::vector<tick> all;
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    tick sum = 0;
    for (timed_pass const& t : s.order[d])
      if (!t.closes_pair()) sum += s.end_of(t, static_cast<int>(d)) - t.start;
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

// The most that each device holds at once: what lies there all the time, and what passes take at their
// start until they give it back at their end.
constexpr std::vector<byte_count> peak_memory(schedule const& s, memory_model const& memory) {
  std::vector<byte_count> peaks;
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    byte_count held = memory.resident_on(s.where, static_cast<int>(d)), peak = held;
    for (timed_pass const& t : s.order[d]) {  // passes of a device follow each other: order is enough
      stage_memory const& own = memory.of(t.what.stage);
      held += own.taken_by(t.what.kind);
      peak = max_of(peak, held);
      held -= own.given_back_by(t.what.kind, s.mode);
    }
    peaks.push_back(peak);
  }
  return peaks;
}

// Most chunk activations that each device holds at once: one more from the start of a forward, one less
// from the end of the fused backward or the weight pass (in inference, of the forward).
constexpr std::vector<int> peak_activations(schedule const& s) {
  std::vector<int> peaks;
  for (byte_count peak : peak_memory(s, chunk_activations(0).memory))
    peaks.push_back(static_cast<int>(peak));
  return peaks;
}

}  // namespace ashlar
