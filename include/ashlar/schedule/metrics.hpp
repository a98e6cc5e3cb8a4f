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
// start until they give it back at their end. Says nothing of work: peak_activations does.
constexpr std::vector<byte_count> peak_memory(schedule const& s, memory_model const& memory) {
  std::vector<byte_count> peaks;
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    byte_count held = memory.resident_on(s.where, static_cast<int>(d)), peak = held;
    for (timed_pass const& t : s.order[d]) {  // passes of a device follow each other: order is enough
      if (t.what.kind == pass_kind::work) continue;
      stage_memory const& own = memory.of(t.what.stage);
      held += own.taken_by(t.what.kind);
      peak = max_of(peak, held);
      held -= own.given_back_by(t.what.kind, s.mode);
    }
    peaks.push_back(peak);
  }
  return peaks;
}

// How many chunk activations the passes give back, asked one after the other in the order of their
// device. One is held from the start of its forward to the end of the last pass that reads it: the fused
// backward or weight pass (without training, the forward itself), or work that reads of the forward or
// its recompute.
class held_chunks {
 public:
  // Refers to the schedule.
  constexpr held_chunks(schedule const& s, bool trains) : work_(s.work.view()), trains_(trains) {
    if (work_.empty()) return;
    stages_ = static_cast<std::size_t>(s.stage_count());
    reads_left_.assign(stages_ * s.route.size(), 1);
    for (work_edge const& e : work_.into)
      if (reads_chunk(e) && is_known(e.from)) ++left(e.from);
  }

  // At the end of a pass.
  constexpr int given_back_by(pass what) {
    bool const frees = trains_ ? gives_weight_gradient(what.kind) : what.kind == pass_kind::forward;
    if (work_.empty()) return frees ? 1 : 0;
    int count = frees && give_back(what) ? 1 : 0;
    if (what.kind == pass_kind::work)
      for (work_edge const& e : work_.inputs(what))
        if (reads_chunk(e) && is_known(e.from) && give_back(e.from)) ++count;
    return count;
  }

 private:
  static constexpr bool reads_chunk(work_edge const& e) {
    return e.from.kind == pass_kind::forward || e.from.kind == pass_kind::recompute;
  }
  constexpr bool is_known(pass what) const {
    return what.stage >= 0 && what.micro_batch >= 0 && static_cast<std::size_t>(what.stage) < stages_
           && static_cast<std::size_t>(what.micro_batch) < reads_left_.size() / stages_;
  }
  constexpr bool give_back(pass what) { return !is_known(what) || --left(what) == 0; }
  constexpr int& left(pass what) {
    return reads_left_[static_cast<std::size_t>(what.micro_batch) * stages_
                       + static_cast<std::size_t>(what.stage)];
  }

  work_view work_;
  bool trains_;
  std::size_t stages_ = 0;
  std::vector<int> reads_left_;  // by micro-batch and stage
};

// Most chunk activations that each device holds at once, as held_chunks counts.
constexpr std::vector<int> peak_activations(schedule const& s) {
  std::vector<int> peaks;
  held_chunks held_by(s, s.mode == execution_mode::training);
  for (auto const& order : s.order) {
    int held = 0, peak = 0;
    for (timed_pass const& t : order) {  // passes of a device follow each other: the order is enough
      if (t.what.kind == pass_kind::forward && ++held > peak) peak = held;
      held -= held_by.given_back_by(t.what);
    }
    peaks.push_back(peak);
  }
  return peaks;
}

// Of the device that holds most.
constexpr int peak_of_all(schedule const& s) {
  int most = 0;
  for (int peak : peak_activations(s)) most = max_of(most, peak);
  return most;
}

}  // namespace ashlar
